package k6http

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/grafana/sobek"

	"github.com/retrylab/retrylab/runner/modules"
)

// jar holds cookies. It costs nothing until it gets one. It is safe for
// concurrent use; the zero value is empty.
type jar struct {
	mu sync.Mutex
	of *cookiejar.Jar
}

func (j *jar) set(u *url.URL, cookies []*http.Cookie) {
	if len(cookies) == 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.of == nil {
		j.of, _ = cookiejar.New(nil) // has no error to return
	}
	j.of.SetCookies(u, cookies)
}

func (j *jar) get(u *url.URL) []*http.Cookie {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.of == nil {
		return nil
	}
	return j.of.Cookies(u)
}

// jar is the virtual user's own jar: a new one for each iteration, unless the
// options keep it.
func (c *client) jar() *jar {
	if it := c.vu.Iteration(); it != c.cookiesOf {
		c.cookiesOf = it
		if !c.vu.Settings().NoCookiesReset {
			c.cookies = &jar{}
		}
	}
	return c.cookies
}

// addCookies gives a request its own cookies and those of its jar.
func (r *request) addCookies(req *http.Request) {
	for _, c := range r.cookies {
		req.AddCookie(c)
	}
	for _, c := range r.jar.get(req.URL) {
		if !r.replaced[c.Name] {
			req.AddCookie(c)
		}
	}
}

// cookieJar is a jar as the script sees it.
type cookieJar struct {
	c   *client
	jar *jar
}

// cookieJar is http.cookieJar(): the virtual user's own jar.
func (c *client) cookieJar(sobek.FunctionCall) sobek.Value {
	c.mustRun("cookie jars of virtual users")
	return c.rt.ToValue(&cookieJar{c: c, jar: c.jar()})
}

// newCookieJar is new http.CookieJar(): an empty jar.
func (c *client) newCookieJar(sobek.ConstructorCall) *sobek.Object {
	return c.rt.ToValue(&cookieJar{c: c, jar: &jar{}}).ToObject(c.rt)
}

// url reads the argument that says whose cookies are meant.
func (j *cookieJar) url(method string, v sobek.Value) *url.URL {
	u, err := url.Parse(v.String())
	if err != nil || modules.IsNullish(v) {
		modules.Throw(j.c.rt, "CookieJar.%s(): %s is no URL: want one like \"https://example.com/path\"", method, came(v))
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		j.c.vu.Warn("cookie jar "+u.Scheme, fmt.Sprintf("CookieJar.%s(): %q is no http or https URL, and has no cookies", method, v))
	}
	return u
}

// CookiesForURL is cookiesForURL(url): the values of cookies by their names.
func (j *cookieJar) CookiesForURL(call sobek.FunctionCall) sobek.Value {
	byName := make(map[string][]any)
	out := j.c.rt.NewObject()
	for _, c := range j.jar.get(j.url("cookiesForURL", call.Argument(0))) {
		byName[c.Name] = append(byName[c.Name], c.Value)
		_ = out.Set(c.Name, j.c.rt.NewArray(byName[c.Name]...))
	}
	return out
}

// Set is set(url, name, value, options).
func (j *cookieJar) Set(call sobek.FunctionCall) sobek.Value {
	rt := j.c.rt
	u := j.url("set", call.Argument(0))
	c := &http.Cookie{Name: j.name("set", call.Argument(1))}
	if v := call.Argument(2); !modules.IsNullish(v) {
		c.Value = v.String()
	}
	if opts := call.Argument(3); !modules.IsNullish(opts) {
		o, ok := opts.(*sobek.Object)
		if !ok {
			modules.Throw(rt, "CookieJar.set(): the options are %s, want an object", came(opts))
		}
		for _, key := range o.Keys() {
			v := o.Get(key)
			if modules.IsNullish(v) {
				continue
			}
			switch strings.ToLower(key) {
			case "path":
				c.Path = v.String()
			case "domain":
				c.Domain = v.String()
			case "expires":
				if v.String() == "" {
					continue
				}
				var err error
				if c.Expires, err = time.Parse(time.RFC1123, v.String()); err != nil {
					modules.Throw(rt, "CookieJar.set(): expires is %s, want a date like \"Mon, 02 Jan 2006 15:04:05 GMT\"", came(v))
				}
			case "max_age":
				n, ok := v.Export().(int64)
				if !ok {
					modules.Throw(rt, "CookieJar.set(): max_age is %s, want a whole number of seconds", came(v))
				}
				c.MaxAge = int(n)
			case "secure":
				c.Secure = v.ToBoolean()
			case "http_only":
				c.HttpOnly = v.ToBoolean()
			}
		}
	}
	j.jar.set(u, []*http.Cookie{c})
	return rt.ToValue(true)
}

// Clear is clear(url): it removes the cookies that the URL would get.
func (j *cookieJar) Clear(call sobek.FunctionCall) sobek.Value {
	u := j.url("clear", call.Argument(0))
	cookies := j.jar.get(u)
	for _, c := range cookies {
		c.MaxAge = -1
	}
	j.jar.set(u, cookies)
	return sobek.Undefined()
}

// Delete is delete(url, name).
func (j *cookieJar) Delete(call sobek.FunctionCall) sobek.Value {
	u := j.url("delete", call.Argument(0))
	j.jar.set(u, []*http.Cookie{{Name: j.name("delete", call.Argument(1)), MaxAge: -1}})
	return sobek.Undefined()
}

func (j *cookieJar) name(method string, v sobek.Value) string {
	if modules.IsNullish(v) || v.String() == "" {
		modules.Throw(j.c.rt, "CookieJar.%s(): the name of the cookie is %s, want text", method, came(v))
	}
	return v.String()
}
