package k6http_test

import (
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// parts answers with the parts of a multipart body, a line each.
func parts(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mr, err := r.MultipartReader()
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for {
			p, err := mr.NextPart()
			if err != nil {
				return
			}
			data, _ := io.ReadAll(p)
			_, _ = fmt.Fprintf(w, "%s|%s|%s|%s\n", p.FormName(), p.FileName(), p.Header.Get("Content-Type"), data)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestMultipartBodies(t *testing.T) {
	got := shown(t, parts(t), `show(http.post(U, {
		text: 'a b', n: 7, plain: http.file('content', 'a "b".txt', 'text/plain'), bytes: http.file(new Uint8Array([104, 105]).buffer, 'b.bin') }).body)`)
	assert.Equal(t, "text|||a b\nn|||7\nplain|a \"b\".txt|text/plain|content\nbytes|b.bin|application/octet-stream|hi\n", got)
	assert.Equal(t, []any{"d", "f.txt", "text/x", true}, shown(t, "",
		"const f = http.file('d', 'f.txt', 'text/x'); show([f.data, f.filename, f.content_type, /^[0-9]+$/.test(http.file('x').filename)])"))
}

func TestCompressedRequests(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body io.Reader = r.Body
		var err error
		encodings := strings.Split(r.Header.Get("Content-Encoding"), ", ")
		for i := len(encodings) - 1; i >= 0 && err == nil; i-- {
			switch encodings[i] {
			case "gzip":
				body, err = gzip.NewReader(body)
			case "deflate":
				body, err = zlib.NewReader(body)
			}
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		data, _ := io.ReadAll(body)
		_, _ = fmt.Fprintf(w, "%s|%s", r.Header.Get("Content-Encoding"), data)
	}))
	t.Cleanup(s.Close)
	for params, want := range map[string]string{
		"{compression: 'gzip'}":          "gzip|body",
		"{compression: 'deflate'}":       "deflate|body",
		"{compression: 'gzip, deflate'}": "gzip, deflate|body",
		"{compression: ''}":              "|body",
		"{compression: 'gzip', headers: {'Content-Encoding': 'gzip'}}": "gzip|body",
	} {
		got := shown(t, s.URL, "const r = http.post(U, 'body', "+params+"); show([r.body, r.request.body])")
		assert.Equal(t, []any{want, "body"}, got, params)
	}
	out := script(t, s.URL, "http.post(U, 'body', {compression: 'gzip', headers: {'Content-Encoding': 'x', 'Content-Length': '3'}})")
	log := strings.Join(out.Log, "\n")
	assert.Contains(t, log, `the header Content-Encoding "x" of the request to`)
	assert.Contains(t, log, `the header Content-Length "3" was ignored`)
	assert.Equal(t, "|", shown(t, s.URL, "show(http.post(U, null, {compression: 'gzip'}).body)"), "there is nothing to compress")
}

func TestDecompressedAnswers(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/both", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "deflate, gzip")
		outer := gzip.NewWriter(w)
		inner := zlib.NewWriter(outer)
		_, _ = io.WriteString(inner, "twice")
		_ = inner.Close()
		_ = outer.Close()
	})
	for _, name := range []string{"br", "zstd", "x-own"} {
		mux.HandleFunc("/"+name, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", name)
			_, _ = io.WriteString(w, "as it is")
		})
	}
	mux.HandleFunc("/empty", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Encoding", "gzip") })
	mux.HandleFunc("/corrupt", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff})
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	for path, want := range map[string][]any{
		"/both":    {200.0, "twice", 0.0},
		"/x-own":   {200.0, "as it is", 0.0},
		"/empty":   {200.0, "", 0.0},
		"/br":      {0.0, nil, 1701.0},
		"/zstd":    {0.0, nil, 1701.0},
		"/corrupt": {0.0, nil, 1701.0},
	} {
		assert.Equal(t, want, shown(t, s.URL, "const r = http.get(U + '"+path+"'); show([r.status, r.body, r.error_code])"), path)
	}
	out := script(t, s.URL, "show(http.get(U + '/br').error); show(http.get(U + '/br', {responseType: 'none'}).status)")
	require.Len(t, out.Console, 2)
	assert.Contains(t, out.Console[0], `the compression \"br\" is not in the built-in runner; use a k6 build`)
	assert.Equal(t, "200", out.Console[1])
}
