package k6http_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/retrylab/retrylab/runner"
	"github.com/retrylab/retrylab/runner/internal/scripttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server answers what its path says.
func server(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"method": r.Method, "body": string(body), "query": r.URL.RawQuery, "type": r.Header.Get("Content-Type"),
			"x": r.Header.Get("X-A"), "agent": r.UserAgent(), "cookie": r.Header.Get("Cookie"), "host": r.Host,
			"encoding": r.Header.Get("Accept-Encoding"), "list": []any{map[string]any{"n": 1}, map[string]any{"n": 2}},
		})
	})
	mux.HandleFunc("/status/{code}", func(w http.ResponseWriter, r *http.Request) {
		var code int
		_, _ = fmt.Sscan(r.PathValue("code"), &code)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, "not json")
	})
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/reset", func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = c.(*net.TCPConn).SetLinger(0) // closes with a reset
			_ = c.Close()
		}
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "short")
	})
	mux.HandleFunc("/hops/{n}", func(w http.ResponseWriter, r *http.Request) {
		var n int
		_, _ = fmt.Sscan(r.PathValue("n"), &n)
		if n == 0 {
			_, _ = io.WriteString(w, "arrived")
			return
		}
		http.Redirect(w, r, fmt.Sprintf("/hops/%d", n-1), http.StatusFound)
	})
	mux.HandleFunc("/set", func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: "42", Path: "/"})
	})
	mux.HandleFunc("/gzip", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, "unzipped")
		_ = z.Close()
	})
	mux.HandleFunc("/badgzip", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, "this is no gzip stream at all")
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// script runs the body of a default function, which logs what it wants to be
// looked at with show().
func script(t *testing.T, url, body string, adjust ...func(*runner.Config)) scripttest.Outcome {
	t.Helper()
	return scripttest.Run(t, fmt.Sprintf(`
import http from 'k6/http';
const U = %q;
const show = (v) => console.log(JSON.stringify(v));
export const options = __ENV.OPTIONS ? JSON.parse(__ENV.OPTIONS) : {};
export default async function () { %s }
`, url, body), adjust...)
}

// shown runs a body that shows one value, and decodes it.
func shown(t *testing.T, url, body string, adjust ...func(*runner.Config)) any {
	t.Helper()
	out := script(t, url, body, adjust...)
	require.NoError(t, out.Err)
	require.Len(t, out.Console, 1, "log: %v", out.Log)
	var v any
	require.NoError(t, json.Unmarshal([]byte(out.Console[0]), &v), out.Console[0])
	return v
}

func withOptions(json string) func(*runner.Config) {
	return func(c *runner.Config) { c.Env = map[string]string{"OPTIONS": json} }
}

func TestMethodsAndBodies(t *testing.T) {
	url := server(t)
	for call, want := range map[string]string{
		"http.get(U + '/echo?a=b')":                                             "GET|||a=b",
		"http.post(U + '/echo', 'text')":                                        "POST|text||",
		"http.put(U + '/echo', JSON.stringify({a: 1}))":                         `PUT|{"a":1}||`,
		"http.patch(U + '/echo', new Uint8Array([104, 105]))":                   "PATCH|hi||",
		"http.post(U + '/echo', new Uint8Array([104]).buffer)":                  "POST|h||",
		"http.del(U + '/echo', null)":                                           "DELETE|||",
		"http.options(U + '/echo')":                                             "OPTIONS|||",
		"http.request('get', U + '/echo')":                                      "get|||",
		"http.request('PROPFIND', U + '/echo', 'b')":                            "PROPFIND|b||",
		"http.post(U + '/echo', {b: 'x y', a: 1, l: [1, 'z']})":                 "POST|a=1&b=x+y&l=1&l=z|application/x-www-form-urlencoded|",
		"http.post(U + '/echo', {a: 1}, {headers: {'Content-Type': 'text/x'}})": "POST|a=1|text/x|",
	} {
		got := shown(t, url, "const e = ("+call+").json(); show([e.method, e.body, e.type, e.query].join('|'));")
		assert.Equal(t, want, got, call)
	}
	assert.Equal(t, []any{200.0, ""}, shown(t, url, "const r = http.head(U + '/echo'); show([r.status, r.body]);"))
}

func TestHeadersAndAgent(t *testing.T) {
	url := server(t)
	got := shown(t, url, "const e = http.get(U + '/echo', {headers: {'X-A': 7, Host: 'example.test'}}).json(); show([e.x, e.host, e.agent, e.encoding]);",
		withOptions(`{"userAgent": "tester"}`))
	assert.Equal(t, []any{"7", "example.test", "tester", ""}, got)
}

func TestResponse(t *testing.T) {
	url := server(t)
	got := shown(t, url, `const r = http.get(U + '/echo', {headers: {A: 'b'}});
		show({ status: r.status, text: r.status_text, url: r.url === U + '/echo', proto: r.proto, type: r.headers['Content-Type'],
			error: r.error, code: r.error_code, req: [r.request.method, r.request.headers.A, r.request.url === U + '/echo', r.request.body], ip: r.remote_ip, json: typeof r.json,
			sum: Math.abs(r.timings.duration - r.timings.sending - r.timings.waiting - r.timings.receiving) < 1e-9 && r.timings.waiting > 0,
			phases: Object.keys(r.timings).sort(), keys: Object.keys(r).includes('status'), mine: (r.mine = 3) && r.mine, gone: r.gone === undefined })`)
	assert.Equal(t, map[string]any{
		"status": 200.0, "text": "200 OK", "url": true, "proto": "HTTP/1.1", "type": "application/json", "error": "", "code": 0.0,
		"req": []any{"GET", []any{"b"}, true, ""}, "ip": "127.0.0.1", "json": "function", "sum": true,
		"phases": []any{"blocked", "connecting", "duration", "looking_up", "receiving", "sending", "tls_handshaking", "waiting"},
		"keys":   true, "mine": 3.0, "gone": true,
	}, got)
}

func TestJSON(t *testing.T) {
	url := server(t)
	assert.Equal(t, []any{2.0, "GET", []any{1.0, 2.0}, true, 2.0}, shown(t, url, `const r = http.get(U + '/echo');
		show([r.json('list.1.n'), r.json('method'), r.json('list.#.n'), r.json('nope') === undefined, r.json().list.length])`))
	assert.Equal(t, "Error: json(): the body is not JSON: \"not json\"", shown(t, url,
		"try { http.get(U + '/status/200').json() } catch (e) { show(String(e)) }"))
	assert.Equal(t, true, shown(t, url, "show(http.get(U + '/status/200').json('a') === undefined)"))
	assert.Equal(t, 2.0, shown(t, url, "show(http.get(U + '/echo').json('list.#'))"))
	assert.Contains(t, shown(t, url, "try { http.get('http://127.0.0.1:1').json() } catch (e) { show(String(e)) }"), "has no body")
}

func TestErrorCodes(t *testing.T) {
	url := server(t)
	for call, want := range map[string][]any{
		"http.get(U + '/hang', {timeout: 30})":     {0.0, 1050.0, "request timeout"},
		"http.get(U + '/hang', {timeout: '30ms'})": {0.0, 1050.0, "request timeout"},
		"http.get('http://127.0.0.1:1/')":          {0.0, 1212.0, "dial: connection refused"},
		"http.get(U + '/reset')":                   {0.0, 1220.0, "read: connection reset by peer"},
		"http.get(U + '/cut')":                     {0.0, 1000.0, "unexpected EOF"},
		"http.get(U + '/status/503')":              {503.0, 1503.0, ""},
		"http.get(U + '/status/404')":              {404.0, 1404.0, ""},
		"http.get('nonsense')":                     {0.0, 1020.0, `invalid URL "nonsense": want scheme://host/path`},
		"http.get(U + '/badgzip')":                 {0.0, 1701.0, "cannot decompress the body: gzip: invalid header"},
	} {
		got := shown(t, url, "const r = "+call+"; show([r.status, r.error_code, r.error, r.body === null || r.status > 0]);")
		assert.Equal(t, append(want, true), got, call)
	}
}

func TestThrow(t *testing.T) {
	url := server(t)
	for name, adjust := range map[string]func(*runner.Config){
		"{throw: true}": func(*runner.Config) {}, "{}": withOptions(`{"throw": true}`),
	} {
		got := shown(t, url, "try { http.get('http://127.0.0.1:1/', "+name+") } catch (e) { show([e instanceof Error, String(e)]) }", adjust)
		assert.Equal(t, true, got.([]any)[0], name)
		assert.Contains(t, got.([]any)[1], "connection refused", name)
	}
	out := script(t, url, "try { await http.asyncRequest('GET', 'http://127.0.0.1:1/', null, {throw: true}) } catch (e) { show(String(e)) }")
	require.Len(t, out.Console, 1)
	assert.Contains(t, out.Console[0], "connection refused")
}

func TestRedirects(t *testing.T) {
	url := server(t)
	assert.Equal(t, []any{200.0, "arrived", "/hops/0"}, shown(t, url, "const r = http.get(U + '/hops/3'); show([r.status, r.body, r.url.slice(U.length)])"))
	assert.Equal(t, []any{302.0, "/hops/2"}, shown(t, url, "const r = http.get(U + '/hops/3', {redirects: 1}); show([r.status, r.url.slice(U.length)])"))
	out := script(t, url, "show(http.get(U + '/hops/12').status)")
	assert.Equal(t, []string{"302"}, out.Console)
	assert.Contains(t, strings.Join(out.Log, "\n"), "stopped after 10 redirects")
	assert.Equal(t, 11.0, metric(t, out, "http_reqs", "count"), "each hop is a request")
	out = script(t, url, "show(http.get(U + '/hops/2').status); http.get(U + '/hops/2', {redirects: 0})",
		withOptions(`{"maxRedirects": 1, "thresholds": {"http_reqs{status:302}": [], "http_reqs{name:`+url+`/hops/2}": []}}`))
	assert.Equal(t, []string{"302"}, out.Console)
	assert.NotContains(t, strings.Join(out.Log, "\n"), "stopped after", "the limit was asked for")
	assert.Equal(t, 3.0, metric(t, out, "http_reqs{status:302}", "count"))
	assert.Equal(t, 2.0, metric(t, out, "http_reqs{name:"+url+"/hops/2}", "count"), "each hop has its own name")
}

func TestBodiesByType(t *testing.T) {
	url := server(t)
	assert.Equal(t, []any{"unzipped", 8.0, true}, shown(t, url, `show([http.get(U + '/gzip').body,
		http.get(U + '/gzip', {responseType: 'binary'}).body.byteLength, http.get(U + '/gzip', {responseType: 'none'}).body === null])`))
	assert.Equal(t, []any{true, "unzipped"}, shown(t, url, `show([http.get(U + '/gzip').body === null, http.get(U + '/gzip', {responseType: 'text'}).body])`,
		withOptions(`{"discardResponseBodies": true}`)))
	assert.Equal(t, []any{nil, nil, ""}, shown(t, url, "show([http.get(U + '/status/204').body, http.get(U + '/status/304').body, http.get(U + '/set').body])"))
}

func TestCookiesLastForAnIteration(t *testing.T) {
	url := server(t)
	body := `const before = http.get(U + '/echo').json('cookie'); const c = http.get(U + '/set').cookies.sid[0].value;
		const own = http.get(U + '/echo', {cookies: {a: 'b', sid: {value: 'mine', replace: true}}}).json('cookie');
		show([before, c, http.get(U + '/echo').json('cookie'), own])`
	out := script(t, url, body, withOptions(`{"iterations": 2}`))
	assert.Equal(t, []string{`["","42","sid=42","a=b; sid=mine"]`, `["","42","sid=42","a=b; sid=mine"]`}, out.Console)
	out = script(t, url, body, withOptions(`{"iterations": 2, "noCookiesReset": true}`))
	assert.Equal(t, `["sid=42","42","sid=42","a=b; sid=mine"]`, out.Console[1])
}

func TestBatch(t *testing.T) {
	url := server(t)
	assert.Equal(t, []any{"GET", "POST", "PUT", 0.0}, shown(t, url, `const r = http.batch([U + '/echo', ['POST', U + '/echo', 'b', {tags: {k: 'v'}}],
		{method: 'PUT', url: U + '/echo'}, 'nonsense']); show([r[0].json('method'), r[1].json('method'), r[2].json('method'), r[3].status])`))
	assert.Equal(t, map[string]any{"a": 200.0, "b": 404.0}, shown(t, url, `const r = http.batch({a: U + '/echo', b: U + '/status/404'}); show({a: r.a.status, b: r.b.status})`))
	assert.Equal(t, []any{"POST", "form=1", "5", "", 8.0, true}, shown(t, url, "const r = http.batch({"+
		"a: {method: 'post', url: U + '/echo', body: {form: 1}, params: {headers: {'X-A': 5}}}, "+
		"b: {method: 'GET', url: U + '/echo', body: 'left out'}, "+
		"c: {url: U + '/gzip', params: {responseType: 'binary'}}, d: http.url`${U}/echo`}); "+
		"show([r.a.json('method'), r.a.json('body'), r.a.json('x'), r.b.json('body'), r.c.body.byteLength, r.d.status === 200])"))
	assert.Equal(t, []any{}, shown(t, url, "show(http.batch([]))"))
	out := script(t, url, "try { http.batch([U + '/echo', ['GET', 'http://127.0.0.1:1', null, {throw: true}]]) } catch (e) { show(String(e)) }")
	assert.Contains(t, strings.Join(out.Console, ""), "connection refused")
	assert.Equal(t, 2.0, metric(t, out, "http_reqs", "count"), "the others are made all the same")
}

func TestBatchKeepsTheOrder(t *testing.T) {
	var mu sync.Mutex
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		got = append(got, r.URL.Path)
		mu.Unlock()
	}))
	t.Cleanup(s.Close)
	require.NoError(t, script(t, s.URL, "http.batch(['/1', '/2', '/3', '/4'].map((p) => U + p))", withOptions(`{"batch": 1}`)).Err)
	assert.Equal(t, []string{"/1", "/2", "/3", "/4"}, got)
}

func TestABatchHasTheBoundsOfTheOptions(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(s.Close)
	for _, options := range []string{`{"batchPerHost": 1}`, `{"batch": 1, "batchPerHost": 0}`, `{"batch": 50}`} {
		out := script(t, s.URL, "show(http.batch([U, U, U, U, U]).map((r) => r.status))", withOptions(options))
		require.NoError(t, out.Err)
		assert.Equal(t, []string{"[200,200,200,200,200]"}, out.Console)
	}
}

func TestAsyncRequestsRunBesideEachOther(t *testing.T) {
	var waiting atomic.Int64
	both := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if waiting.Add(1) == 2 {
			close(both)
		}
		<-both
	}))
	t.Cleanup(s.Close)
	out := script(t, s.URL, "const rs = await Promise.all([http.asyncRequest('GET', U), http.asyncRequest('GET', U)]); show(rs.map((r) => r.status))")
	require.NoError(t, out.Err)
	assert.Equal(t, []string{"[200,200]"}, out.Console)
}

func metric(t *testing.T, out scripttest.Outcome, name, value string) float64 {
	t.Helper()
	require.NotNil(t, out.Result, "%v", out.Err)
	for _, m := range out.Result.Summary.Metrics {
		if m.Name == name {
			return m.Get(value)
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

func TestMetricsAndTheirTags(t *testing.T) {
	url := server(t)
	out := script(t, url, `http.get(U + '/echo', {tags: {k: 'v'}}); http.get(U + '/status/500'); http.get(http.url`+"`${U}/status/${404}`"+`);
		http.get(U + '/status/404', {responseCallback: http.expectedStatuses(404, {min: 500, max: 599})});
		http.get(U + '/status/500', {responseCallback: null}); http.get('http://127.0.0.1:1/', {tags: {name: 'dead'}});`,
		withOptions(`{"thresholds": {"http_reqs{k:v}": [], "http_reqs{status:500}": [], "http_reqs{name:${}/status/${}}": [], "http_reqs{expected_response:true}": [],
			"http_reqs{error_code:1212}": [], "http_reqs{url:dead}": [], "http_reqs{method:GET,scenario:default}": [], "http_reqs{proto:HTTP/1.1}": [], "http_reqs{error_code:1404}": []}}`))
	require.NoError(t, out.Err)
	for key, want := range map[string]float64{
		"http_reqs": 6, "http_reqs{k:v}": 1, "http_reqs{status:500}": 2, "http_reqs{name:${}/status/${}}": 1, "http_reqs{expected_response:true}": 2,
		"http_reqs{error_code:1212}": 1, "http_reqs{url:dead}": 1, "http_reqs{method:GET,scenario:default}": 6, "http_reqs{proto:HTTP/1.1}": 5,
		"http_reqs{error_code:1404}": 2,
	} {
		assert.Equal(t, want, metric(t, out, key, "count"), key)
	}
	assert.Equal(t, 3.0, metric(t, out, "http_req_failed", "passes"))
	assert.Equal(t, 2.0, metric(t, out, "http_req_failed", "fails"), "one was not judged")
	assert.Greater(t, metric(t, out, "data_received", "count"), 500.0)
	assert.Greater(t, metric(t, out, "data_sent", "count"), 300.0)
}

func TestResponseCallbackOfTheWholeScript(t *testing.T) {
	url := server(t)
	out := script(t, url, "http.setResponseCallback(http.expectedStatuses(500)); http.get(U + '/status/500'); http.get(U + '/status/200')")
	assert.Equal(t, 0.5, metric(t, out, "http_req_failed", "rate"))
}

func TestConnectionsAreKept(t *testing.T) {
	var conns atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") }))
	s.Config.ConnState = func(_ net.Conn, st http.ConnState) {
		if st == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	for options, want := range map[string]int64{
		`{"vus": 2, "iterations": 8}`:                      2,
		`{"iterations": 4, "noConnectionReuse": true}`:     8,
		`{"iterations": 4, "noVUConnectionReuse": true}`:   4,
		`{"iterations": 3, "discardResponseBodies": true}`: 1,
	} {
		conns.Store(0)
		out := script(t, s.URL, "http.get(U); http.get(U)", withOptions(options))
		require.NoError(t, out.Err)
		got := conns.Load()
		if strings.Contains(options, "vus") {
			assert.LessOrEqual(t, got, want, options)
		} else {
			assert.Equal(t, want, got, options)
		}
	}
}

func TestRefusals(t *testing.T) {
	url := server(t)
	for call, what := range map[string]string{
		"http.get(U, {auth: 'ntlm'})":                             `the authentication "ntlm"`,
		"http.post(U, 'b', {compression: 'br'})":                  `the compression "br"`,
		"http.post(U, 'b', {compression: 'gzip, zstd'})":          `the compression "zstd"`,
		"http.get(U + '/echo').html('a')":                         "Response.html",
		"http.get(U + '/echo').submitForm()":                      "Response.submitForm",
		"http.get(U + '/echo').clickLink()":                       "Response.clickLink",
		"http.get(U + '/echo').ocsp":                              "Response.ocsp",
		"http.batch([['GET', U, null, {auth: 'ntlm'}]])":          `the authentication "ntlm"`,
		"await http.asyncRequest('GET', U, null, {auth: 'ntlm'})": `the authentication "ntlm"`,
	} {
		got := shown(t, url, "try { "+call+" } catch (e) { show(e.message) }")
		assert.Equal(t, what+" is not in the built-in runner; use a k6 build (see README)", got, call)
	}
}

func TestWrongArguments(t *testing.T) {
	url := server(t)
	for call, want := range map[string]string{
		"http.get(U, 'x')":                               `the request's parameters are "x", want an object`,
		"http.get(null)":                                 `invalid URL "null": want scheme://host/path`,
		"http.get()":                                     `invalid URL "undefined": want`,
		"http.get('http://[::1')":                        `invalid URL "http://[::1": want`,
		"http.post(U, 5)":                                "the body is 5, want text, an ArrayBuffer or an object of form fields and files",
		"http.post(U, [1])":                              "the body is an array, want text",
		"http.post(U, () => 1)":                          "the body is a function, want text",
		"http.post(U, new Date())":                       `the body is an object of class "Date", want text`,
		"http.get(U, {headers: 'x'})":                    `headers are "x", want an object`,
		"http.get(U, {cookies: 1})":                      "cookies are 1, want an object",
		"http.get(U, {jar: {}})":                         "jar is an object, want what http.cookieJar() or new http.CookieJar() makes",
		"http.get(U, {tags: 'x'})":                       `tags: want an object of text, numbers or booleans, not "x"`,
		"http.get(U, {timeout: true})":                   `timeout is true, want text like "1.5s" or a number of milliseconds`,
		"http.get(U, {timeout: '3 days'})":               `timeout is "3 days", want text`,
		"http.get(U, {redirects: '5'})":                  `redirects is "5", want a whole number of at least 0`,
		"http.get(U, {redirects: -1})":                   "redirects is -1, want a whole number",
		"http.get(U, {responseType: 'json'})":            `responseType is "json", want "text", "binary" or "none"`,
		"http.get(U, {responseCallback: [200]})":         "the response callback is an array, want null or what http.expectedStatuses() returns",
		"http.post(U, 'b', {compression: 'lzw'})":        `compression "lzw" is none of gzip, deflate`,
		"http.get(U, {auth: 'kerberos'})":                `auth is "kerberos", want "basic" or "digest"`,
		"http.get(U, {auth: 'digest'})":                  "digest authentication needs a name and a password in the URL",
		"http.batch([[1, U]])[0]":                        `batch(): request "0": the method is 1, want text like "GET"`,
		"http.batch({a: {method: 'GET'}}).a":             `batch(): request "a": it has no URL`,
		"http.batch([['GET']])[0]":                       `batch(): request "0": it has no URL`,
		"http.batch([['POST', U, 5]])[0]":                "the body is 5, want text",
		"(await http.asyncRequest('GET', U, null, 'x'))": `the request's parameters are "x", want an object`,
	} {
		got := shown(t, url, "const r = "+call+"; show([r.status, r.error_code > 0, r.body, r.error, r.request.url === r.url])").([]any)
		assert.Equal(t, []any{0.0, true, nil}, got[:3], call)
		assert.Contains(t, got[3], want, call)
		assert.Equal(t, true, got[4], call)
	}
	for call, want := range map[string]string{
		"http.batch()":                                                    "batch() needs an array or an object of requests, not undefined",
		"http.batch('x')":                                                 `batch() needs an array or an object of requests, not "x"`,
		"http.batch(() => 1)":                                             "not a function",
		"http.batch([U], {})":                                             "batch() takes one array or object of requests, not 2 arguments",
		"http.expectedStatuses()":                                         "needs at least one status",
		"http.expectedStatuses('200')":                                    `argument 1 is or holds "200", want a whole number or {min, max} of such`,
		"http.expectedStatuses(200, {min: 1})":                            "argument 2 is or holds undefined",
		"http.expectedStatuses({min: 1.5, max: 2})":                       "argument 1 is or holds 1.5",
		"http.setResponseCallback(() => true)":                            "the response callback is a function, want null or what http.expectedStatuses() returns",
		"http.file()":                                                     "the data is undefined, want text or an ArrayBuffer",
		"http.file({a: 1})":                                               "the data is an object, want text or an ArrayBuffer",
		"http.get(U, {throw: true, headers: 'x'})":                        `headers are "x", want an object`,
		"http.get('nonsense', {throw: true})":                             `invalid URL "nonsense"`,
		"http.cookieJar().set(U, '', 'v')":                                `CookieJar.set(): the name of the cookie is "", want text`,
		"http.cookieJar().set(U, 'a', 'v', 1)":                            "CookieJar.set(): the options are 1, want an object",
		"http.cookieJar().set(U, 'a', 'v', {expires: 'soon'})":            `CookieJar.set(): expires is "soon", want a date like`,
		"http.cookieJar().set(U, 'a', 'v', {max_age: '1'})":               `CookieJar.set(): max_age is "1", want a whole number of seconds`,
		"http.cookieJar().cookiesForURL()":                                "CookieJar.cookiesForURL(): undefined is no URL",
		"http.cookieJar().delete(U)":                                      "CookieJar.delete(): the name of the cookie is undefined, want text",
		"http.cookieJar().clear('http://[::1')":                           `CookieJar.clear(): "http://[::1" is no URL`,
		"await http.asyncRequest('GET', 'nonsense', null, {throw: true})": `invalid URL "nonsense"`,
	} {
		got := shown(t, url, "try { "+call+"; show('nothing was thrown') } catch (e) { show(e.message) }")
		assert.Contains(t, got, want, call)
	}
}

func TestGetTakesNoBody(t *testing.T) {
	out := script(t, server(t), "http.get(U + '/echo', null, {}); http.head(U + '/echo', null, {})")
	log := strings.Join(out.Log, "\n")
	assert.Contains(t, log, "http.get takes a URL and parameters, and no body: 3 arguments were given")
	assert.Contains(t, log, "http.head takes a URL")
}

func TestRequestsEndWithTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	out := scripttest.RunContext(ctx, t, fmt.Sprintf("import http from 'k6/http'; export default function () { http.get(%q); }", s.URL))
	assert.Equal(t, runner.InterruptedRun, runner.KindOf(out.Err))
	assert.EqualValues(t, 1, out.Result.Interrupted)
}

func TestNoRequestsInTheInitContext(t *testing.T) {
	out := scripttest.Run(t, "import http from 'k6/http'; http.get('http://127.0.0.1:1'); export default function () {}")
	assert.Equal(t, runner.ScriptException, runner.KindOf(out.Err))
	assert.ErrorContains(t, out.Err, "init context")
}

func TestTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	const body = "const r = http.get(U); show([r.status, r.error_code, r.error, r.proto, r.tls_version === http.TLS_1_3, r.tls_cipher_suite, r.timings.tls_handshaking > 0])"
	assert.Equal(t, []any{0.0, 1310.0, "x509: unknown authority", "", false, "", false}, shown(t, s.URL, body))
	got := shown(t, s.URL, body, withOptions(`{"insecureSkipTLSVerify": true}`)).([]any)
	assert.Contains(t, got[5], "TLS_")
	got[5] = ""
	assert.Equal(t, []any{200.0, 0.0, "", "HTTP/2.0", true, "", true}, got)
}
