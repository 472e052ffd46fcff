package k6http_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/runner"
)

func TestSystemTags(t *testing.T) {
	url := server(t)
	for _, c := range []struct {
		name, tags string
		seen, not  []string
	}{
		{"by default", "", []string{"status:404", "method:GET", "scenario:default", "error_code:1404", "expected_response:false", "proto:HTTP/1.1"}, []string{"vu:1", "iter:0", "ip:127.0.0.1"}},
		{"chosen", `"systemTags": ["status", "ip", "vu", "iter"],`, []string{"status:404", "ip:127.0.0.1", "vu:1", "iter:0"}, []string{"method:GET", "scenario:default", "error_code:1404", "expected_response:false", "url:" + url + "/status/404"}},
		{"none", `"systemTags": [],`, nil, []string{"status:404", "method:GET", "scenario:default", "vu:1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var keys []string
			for _, tag := range append(c.seen, c.not...) {
				keys = append(keys, `"http_reqs{`+tag+`}": []`)
			}
			out := script(t, url, "http.get(U + '/status/404')", withOptions(`{`+c.tags+`"thresholds": {`+strings.Join(keys, ",")+`}}`))
			require.NoError(t, out.Err)
			for _, tag := range c.seen {
				assert.Equal(t, 1.0, metric(t, out, "http_reqs{"+tag+"}", "count"), tag)
			}
			for _, tag := range c.not {
				assert.Equal(t, 0.0, metric(t, out, "http_reqs{"+tag+"}", "count"), tag)
			}
		})
	}
	for _, tag := range []string{"ocsp_status", "typo"} {
		out := script(t, url, "", withOptions(`{"systemTags": ["url", "`+tag+`"]}`))
		assert.Equal(t, runner.InvalidConfig, runner.KindOf(out.Err), tag)
		assert.ErrorContains(t, out.Err, `systemTags: "`+tag+`" is n`)
	}
}

func TestNamesOfURLs(t *testing.T) {
	url := server(t)
	out := script(t, url, "http.get(http.url`${U}/status/${200}`); http.get(http.url`${U}/status/${200}`, {tags: {name: 'own'}}); http.get(http.url('"+url+"/status/200')); http.get(`${http.url`${U}/status/${200}`}`)",
		withOptions(`{"systemTags": ["name", "url"], "thresholds": {"http_reqs{name:${}/status/${},url:${}/status/${}}": [], "http_reqs{name:own}": [], "http_reqs{name:`+url+`/status/200}": []}}`))
	require.NoError(t, out.Err)
	assert.Equal(t, 1.0, metric(t, out, "http_reqs{name:${}/status/${},url:${}/status/${}}", "count"))
	assert.Equal(t, 1.0, metric(t, out, "http_reqs{name:own}", "count"))
	assert.Equal(t, 2.0, metric(t, out, "http_reqs{name:"+url+"/status/200}", "count"))
}

func TestHTTPDebug(t *testing.T) {
	url := server(t)
	const body = "const r = http.post(U + '/echo', 'sent text'); show(r.json('body'))"
	out := script(t, url, body, withOptions(`{"httpDebug": "full"}`))
	log := strings.Join(out.Log, "\n")
	assert.Equal(t, []string{`"sent text"`}, out.Console)
	assert.Contains(t, log, "Request:\nPOST /echo HTTP/1.1\n")
	assert.Contains(t, log, "\n\nsent text")
	assert.Contains(t, log, "Response:\nHTTP/1.1 200 OK\n")
	assert.Contains(t, log, `"body":"sent text"`)
	out = script(t, url, body, withOptions(`{"httpDebug": "headers"}`))
	log = strings.Join(out.Log, "\n")
	assert.Equal(t, []string{`"sent text"`}, out.Console)
	assert.Contains(t, log, "Response:\nHTTP/1.1 200 OK\n")
	assert.NotContains(t, log, "sent text")
	assert.Empty(t, script(t, url, body).Log)
}

func TestRPSHoldsForAllVirtualUsers(t *testing.T) {
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { n.Add(1) }))
	t.Cleanup(s.Close)
	start := time.Now()
	out := script(t, s.URL, "http.batch([U, U])", withOptions(`{"rps": 100, "vus": 2, "iterations": 3}`))
	require.NoError(t, out.Err)
	assert.EqualValues(t, 6, n.Load())
	assert.GreaterOrEqual(t, time.Since(start), 50*time.Millisecond, "six requests have five gaps of 10 ms between them")
}
