package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"

	"github.com/retrylab/retrylab/downstream/bounded"
)

// The bounds of what a tier is asked but for calls, such as a scenario for the
// server at the end of a chain, and of that server's account, in bytes.
const (
	maxQuestion = 64 << 10
	maxAccount  = 16 << 20
)

// ServeHTTP reads the body of all that is no call before anything else looks at
// the request: net/http does not answer before it has seen the end of a body,
// needed or not.
func (t *tier) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/call" {
		var body bytes.Buffer
		if status, err := bounded.ReadBody(&body, w, r, maxQuestion); err != nil {
			writeJSON(w, status, map[string]string{"error": err.Error()})
			return
		}
		r.Body = io.NopCloser(&body)
	}
	t.mux.ServeHTTP(w, r)
}

// enter gives the first tier the routes of the server at the end, whose base URL
// this is.
func (c *Chain) enter(end *url.URL) {
	mux := c.tiers[0].mux
	mux.Handle("/", c.pass(end, nil))
	mux.Handle("/stats", c.pass(end, c.amend))
	mux.Handle("/reset", c.pass(end, func(r *http.Response) error {
		if r.StatusCode == http.StatusOK {
			c.Reset()
		}
		return nil
	}))
	mux.HandleFunc("/tiers", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			writeJSON(w, http.StatusMethodNotAllowed, map[string]string{"error": fmt.Sprintf("method %q on /tiers is not GET, HEAD", r.Method)})
			return
		}
		writeJSON(w, http.StatusOK, c.Stats())
	})
}

// pass hands requests to the server at the end, and its answers to modify, if
// not nil.
func (c *Chain) pass(end *url.URL, modify func(*http.Response) error) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(end) },
		Transport:      c.tiers[len(c.tiers)-1].transport,
		ModifyResponse: modify,
		ErrorLog:       nobody(),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			writeJSON(w, http.StatusBadGateway, map[string]string{"error": err.Error()})
		},
	}
}

// amend puts the chain's account into that of the server.
func (c *Chain) amend(r *http.Response) error {
	if r.StatusCode != http.StatusOK || r.Request.Method == http.MethodHead {
		return nil
	}
	defer r.Body.Close()
	account := Account{ChainStats: c.Stats()}
	if err := json.NewDecoder(io.LimitReader(r.Body, maxAccount)).Decode(&account.Snapshot); err != nil {
		return fmt.Errorf("account of %s: %w", r.Request.URL.Host, err)
	}
	data, err := json.Marshal(account)
	if err != nil {
		return err
	}
	data = append(data, '\n')
	r.Body = io.NopCloser(bytes.NewReader(data))
	r.ContentLength = int64(len(data))
	r.Header.Set("Content-Length", strconv.Itoa(len(data)))
	return nil
}
