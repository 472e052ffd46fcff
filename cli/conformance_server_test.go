package cli_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// conformanceServer is the server that the scripts of the conformance suite
// call. It keeps no state. Any method is taken at
//
//	/echo                  JSON: method, path, query, host, headers, cookies, body, form, files, length
//	/status/CODE           an answer of that status, with the text "status CODE"
//	/redirect/N            N redirects by 302, and then /echo
//	/redirect-as/CODE      one redirect of that status to /echo
//	/set-cookie?NAME=VALUE a cookie of the path / for each
//	/redirect-cookie       a cookie "via=redirect" and a redirect to /echo
//	/delay/MS              an empty answer after so many milliseconds
//	/bytes/N               N bytes 0, 1, 2, …
//	/gzip                  the JSON {"zipped":true}, encoded as gzip
//	/bad-gzip              text that says it is gzip
//	/json                  a document to select from
//	/basic/USER/PASSWORD   200 for that basic authentication, otherwise 401
//	/digest/ALGORITHM      200 for an answer to a digest challenge of that algorithm, otherwise 401
//	/brotli                the text "a", encoded as br
//	/close                 the connection is closed without an answer
//	/reset                 the connection is reset
func conformanceServer() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", echo)
	mux.HandleFunc("/status/{code}", func(w http.ResponseWriter, r *http.Request) {
		code := number(r, "code")
		w.WriteHeader(code)
		if code >= 200 && code != http.StatusNoContent && code != http.StatusNotModified {
			fmt.Fprintf(w, "status %d", code)
		}
	})
	mux.HandleFunc("/redirect/{n}", func(w http.ResponseWriter, r *http.Request) {
		to := "/echo"
		if n := number(r, "n"); n > 1 {
			to = "/redirect/" + strconv.Itoa(n-1)
		}
		http.Redirect(w, r, to, http.StatusFound)
	})
	mux.HandleFunc("/redirect-as/{code}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/echo", number(r, "code"))
	})
	mux.HandleFunc("/set-cookie", func(w http.ResponseWriter, r *http.Request) {
		for name := range r.URL.Query() {
			http.SetCookie(w, &http.Cookie{Name: name, Value: r.URL.Query().Get(name), Path: "/"})
		}
	})
	mux.HandleFunc("/redirect-cookie", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "via", Value: "redirect", Path: "/"})
		http.Redirect(w, r, "/echo", http.StatusFound)
	})
	mux.HandleFunc("/delay/{ms}", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(time.Duration(number(r, "ms")) * time.Millisecond):
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("/bytes/{n}", func(w http.ResponseWriter, r *http.Request) {
		data := make([]byte, number(r, "n"))
		for i := range data {
			data[i] = byte(i)
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(data)
	})
	mux.HandleFunc("/gzip", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, `{"zipped":true}`)
		_ = z.Close()
	})
	mux.HandleFunc("/bad-gzip", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, "this is no gzip")
	})
	mux.HandleFunc("/json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"user":{"name":"Ada","age":36,"tags":["a","b"]},"list":[{"id":1},{"id":2}],"none":null,"yes":true}`)
	})
	mux.HandleFunc("/basic/{user}/{password}", func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user != r.PathValue("user") || password != r.PathValue("password") {
			w.Header().Set("WWW-Authenticate", `Basic realm="conformance"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	mux.HandleFunc("/digest/{algorithm}", func(w http.ResponseWriter, r *http.Request) {
		digits := map[string]int{"MD5": 32, "SHA-256": 64}[r.PathValue("algorithm")]
		answer := regexp.MustCompile(fmt.Sprintf(`^Digest .*\bresponse="[0-9a-f]{%d}"`, digits))
		if !answer.MatchString(r.Header.Get("Authorization")) {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Digest realm="conformance", nonce="1", qop="auth", algorithm=%s`, r.PathValue("algorithm")))
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	mux.HandleFunc("/brotli", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		_, _ = io.WriteString(w, "\x0b\x00\x80a\x03")
	})
	mux.HandleFunc("/close", func(w http.ResponseWriter, _ *http.Request) { hangUp(w, false) })
	mux.HandleFunc("/reset", func(w http.ResponseWriter, _ *http.Request) { hangUp(w, true) })
	return mux
}

func echo(w http.ResponseWriter, r *http.Request) {
	out := map[string]any{
		"method": r.Method, "path": r.URL.Path, "query": r.URL.RawQuery, "host": r.Host, "length": r.ContentLength,
	}
	headers, cookies := make(map[string]string), make(map[string]string)
	for name, values := range r.Header {
		headers[name] = strings.Join(values, ", ")
	}
	for _, c := range r.Cookies() {
		cookies[c.Name] = c.Value
	}
	out["headers"], out["cookies"] = headers, cookies
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		if err := r.ParseMultipartForm(1 << 20); err == nil {
			out["form"], out["files"] = r.MultipartForm.Value, uploaded(r)
		}
	} else {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		out["body"] = string(body)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out)
}

// uploaded are the files of a multipart body: name, type and text.
func uploaded(r *http.Request) map[string][]string {
	files := make(map[string][]string)
	for name, list := range r.MultipartForm.File {
		for _, head := range list {
			f, err := head.Open()
			if err != nil {
				continue
			}
			text, _ := io.ReadAll(f)
			_ = f.Close()
			files[name] = append(files[name], head.Filename, head.Header.Get("Content-Type"), string(text))
		}
	}
	return files
}

// hangUp ends the connection of a request.
func hangUp(w http.ResponseWriter, reset bool) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

func number(r *http.Request, name string) int {
	n, _ := strconv.Atoi(r.PathValue(name))
	return n
}
