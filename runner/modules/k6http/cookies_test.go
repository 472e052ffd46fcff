package k6http_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/runner"
	"github.com/retrylab/retrylab/runner/internal/scripttest"
)

func TestCookieJar(t *testing.T) {
	url := server(t)
	for name, c := range map[string]struct {
		body string
		want any
	}{
		"the virtual user's own": {
			`const j = http.cookieJar(); j.set(U, 'a', '1'); const sent = http.get(U + '/echo').json('cookie');
			http.get(U + '/set'); show([sent, j.cookiesForURL(U)])`,
			[]any{"a=1", map[string]any{"a": []any{"1"}, "sid": []any{"42"}}},
		},
		"one of the script's": {
			`const j = new http.CookieJar(); j.set(U, 'mine', 1); const sent = http.get(U + '/echo', {jar: j}).json('cookie');
			http.get(U + '/set', {jar: j}); show([sent, Object.keys(j.cookiesForURL(U)).sort(), http.cookieJar().cookiesForURL(U)])`,
			[]any{"mine=1", []any{"mine", "sid"}, map[string]any{}},
		},
		"clear and delete": {
			`const j = http.cookieJar(); for (const n of ['a', 'b', 'c']) j.set(U, n, n);
			j.delete(U, 'b'); const two = Object.keys(j.cookiesForURL(U)).sort(); j.clear(U); show([two, j.cookiesForURL(U)])`,
			[]any{[]any{"a", "c"}, map[string]any{}},
		},
		"attributes": {
			`const j = new http.CookieJar(); const at = 'http://a.test/x/y';
			j.set(at, 'path', '1', {path: '/x'}); j.set(at, 'other', '1', {path: '/z'}); j.set(at, 'secure', '1', {secure: true, path: '/'});
			j.set(at, 'past', '1', {expires: 'Mon, 02 Jan 2006 15:04:05 GMT'}); j.set(at, 'aged', '1', {max_age: -1}); j.set(at, 'young', '1', {max_age: 60, http_only: true});
			j.set('http://www.a.test/', 'wide', '1', {domain: 'a.test', path: '/'}); j.set('http://www.a.test/', 'narrow', '1', {path: '/'});
			j.set(at, 'none'); show([Object.keys(j.cookiesForURL(at)).sort(), j.cookiesForURL('https://a.test/'), j.set(at, 'a', 'b')])`,
			[]any{
				[]any{"none", "path", "wide", "young"},
				map[string]any{"secure": []any{"1"}, "wide": []any{"1"}}, true,
			},
		},
		"of the request alone": {
			`const j = http.cookieJar(); j.set(U, 'a', 'jar'); const r = http.get(U + '/echo', {cookies: {a: 'own', b: {value: 'x'}}});
			const replaced = http.get(U + '/echo', {cookies: {a: {value: 'own', replace: true}, n: null}}).json('cookie');
			show([r.json('cookie'), r.request.cookies, replaced, j.cookiesForURL(U), r.request.headers.Cookie])`,
			[]any{
				"a=own; b=x; a=jar",
				map[string]any{
					"a": []any{map[string]any{"name": "a", "value": "own", "replace": false}, map[string]any{"name": "a", "value": "jar", "replace": false}},
					"b": []any{map[string]any{"name": "b", "value": "x", "replace": false}},
				},
				"a=own", map[string]any{"a": []any{"jar"}}, []any{"a=own; b=x; a=jar"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, shown(t, url, c.body)) })
	}
}

func TestCookieJarsOutsideOfIterations(t *testing.T) {
	out := scripttest.Run(t, `import http from 'k6/http'; const j = new http.CookieJar(); j.set('http://a.test', 'a', 'b');
		export default function () { console.log(JSON.stringify(j.cookiesForURL('http://a.test'))) }`)
	assert.Equal(t, []string{`{"a":["b"]}`}, out.Console)
	out = scripttest.Run(t, "import http from 'k6/http'; http.cookieJar(); export default function () {}")
	assert.Equal(t, runner.ScriptException, runner.KindOf(out.Err))
	assert.ErrorContains(t, out.Err, "init context")
}

func TestCookieJarSaysWhatHasNoCookies(t *testing.T) {
	out := script(t, "", "http.cookieJar().set('example.com', 'a', 'b')")
	require.NoError(t, out.Err)
	assert.Contains(t, strings.Join(out.Log, "\n"), `CookieJar.set(): "example.com" is no http or https URL`)
}

func TestCookiesAcrossRedirects(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/login", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "s1", Path: "/", HttpOnly: true, MaxAge: 60})
		http.Redirect(w, r, "/home", http.StatusSeeOther)
	})
	mux.HandleFunc("/home", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(r.Method + " " + r.Header.Get("Cookie")))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	assert.Equal(t, []any{"GET own=1; session=s1", map[string]any{"session": []any{"s1"}}}, shown(t, s.URL,
		"const r = http.post(U + '/login', 'x', {cookies: {own: '1'}}); show([r.body, http.cookieJar().cookiesForURL(U)])"))
	assert.Equal(t, map[string]any{
		"name": "session", "value": "s1", "domain": "", "path": "/", "http_only": true, "secure": false, "max_age": 60.0, "expires": 0.0,
	}, shown(t, s.URL, "show(http.get(U + '/login', {redirects: 0}).cookies.session[0])"))
}
