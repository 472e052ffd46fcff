package jsmodule_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRequestIsSentAsTheScriptSays(t *testing.T) {
	type call struct{ method, body, contentType, number string }
	var got call
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = call{r.Method, string(body), r.Header.Get("Content-Type"), r.Header.Get("X-Number")}
	}))
	defer s.Close()
	h := newHost(t, newModule(t))
	require.NoError(t, h.rt.Set("base", s.URL))
	h.run(t, `const p = new Policy({ name: 'p', guards: [] }); const bytes = new Uint8Array([97, 98, 99]).buffer;`)
	const form = "application/x-www-form-urlencoded"
	for script, want := range map[string]call{
		`p.get(base)`:                         {method: "GET"},
		`p.head(base)`:                        {method: "HEAD"},
		`p.post(base, 'text')`:                {method: "POST", body: "text"},
		`p.put(base, bytes)`:                  {method: "PUT", body: "abc"},
		`p.put(base, new ArrayBuffer(0))`:     {method: "PUT"},
		`p.patch(base, 'text')`:               {method: "PATCH", body: "text"},
		`p.del(base)`:                         {method: "DELETE"},
		`p.options(base)`:                     {method: "OPTIONS"},
		`p.request('propfind', base, 'text')`: {method: "PROPFIND", body: "text"},
		`p.post(base, { a: 'x y', n: 1234567.5, big: 1e21 })`:      {method: "POST", body: "a=x+y&big=1e%2B21&n=1234567.5", contentType: form},
		`p.post(base, { list: [1, 2.5], no: null, yes: true })`:    {method: "POST", body: "list=1%2C2.5&no=null&yes=true", contentType: form},
		`p.get(base, { headers: { 'X-Number': 1234567.5 } })`:      {method: "GET", number: "1234567.5"},
		`p.get(base, { headers: { 'X-Number': 0.0000001 } })`:      {method: "GET", number: "1e-7"},
		`p.post(base, {}, { headers: { 'Content-Type': 'a/b' } })`: {method: "POST", contentType: "a/b"},
	} {
		got = call{}
		h.run(t, script)
		assert.Equal(t, want, got, script)
	}
}

// Once the end of a scenario was told to the server as the caller's deadline.
func TestEndOfTheVUsTimeIsNoDeadlineOfARequest(t *testing.T) {
	var told []string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		told = append(told, r.Header.Get("X-Envoy-Expected-Rq-Timeout-Ms"))
	}))
	defer s.Close()
	h := newHost(t, newModule(t))
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	h.ctx = ctx
	require.NoError(t, h.rt.Set("base", s.URL))
	assert.Equal(t, false, h.run(t, `const bare = new Policy({ name: 'bare', guards: [] });
		bare.get(base);
		new Policy({ name: 'timed', guards: [{ timeout: '1m' }] }).get(base);
		bare.executeAsync(async (attempt) => { asyncSaw = 'timeoutMs' in attempt });
		var asyncSaw;
		bare.execute((attempt) => 'timeoutMs' in attempt).result`))
	h.loop(t)
	assert.Equal(t, false, h.run(t, `asyncSaw`))
	assert.Equal(t, []string{"", "60000"}, told)
}

// Once a retry whose wait ended after the scenario was dropped at once.
func TestWaitLongerThanTheVUsTimeIsWaitedFor(t *testing.T) {
	const policy = `new Policy({ name: 'w', guards: [{ retry: { backoff: { initial: '10s' } } }] })`
	const message = "interrupted while waiting to retry: context deadline exceeded; last attempt: Error: boom"
	for name, script := range map[string]string{
		"execute": `var seen = [];
			const { error: e } = ` + policy + `.execute(() => { throw new Error('boom') });
			seen.push([e instanceof Error, e.name, e.code, e.attempts, e.message]);`,
		"executeAsync": `var p = ` + policy + `.executeAsync(() => { throw new Error('boom') });` + watch,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, newModule(t))
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				h.ctx = ctx
				begin := time.Now()
				h.run(t, script)
				h.loop(t)
				assert.Equal(t, 3*time.Second, time.Since(begin))
				assert.Equal(t, []any{[]any{true, "AbortError", "cancelled", int64(1), message}}, h.run(t, `seen`))
			})
		})
	}
}
