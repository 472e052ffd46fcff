package k6http

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"sync"
)

// jar is a virtual user's cookies. It costs nothing until a server sets one.
// It is safe for concurrent use; the zero value is empty.
type jar struct {
	mu sync.Mutex
	of *cookiejar.Jar
}

func (j *jar) reset() {
	j.mu.Lock()
	j.of = nil
	j.mu.Unlock()
}

// requestJar is a jar with the cookies of one request added.
type requestJar struct {
	jar      *jar
	own      []*http.Cookie
	replaced map[string]bool
}

var _ http.CookieJar = (*requestJar)(nil)

func (r *requestJar) SetCookies(u *url.URL, cookies []*http.Cookie) {
	r.jar.mu.Lock()
	defer r.jar.mu.Unlock()
	if r.jar.of == nil {
		of, err := cookiejar.New(nil)
		if err != nil {
			return
		}
		r.jar.of = of
	}
	r.jar.of.SetCookies(u, cookies)
}

func (r *requestJar) Cookies(u *url.URL) []*http.Cookie {
	r.jar.mu.Lock()
	defer r.jar.mu.Unlock()
	out := r.own[:len(r.own):len(r.own)]
	if r.jar.of == nil {
		return out
	}
	for _, c := range r.jar.of.Cookies(u) {
		if !r.replaced[c.Name] {
			out = append(out, c)
		}
	}
	return out
}
