package downstream

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/retrylab/retrylab/downstream/bounded"
)

// maxAdminBody bounds the body of a request that is not a call, in bytes.
const maxAdminBody = 64 << 10

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/call" {
		s.call(w, r)
		return
	}
	// Read before anything else is looked at: net/http does not answer before it has seen the end of a body
	// of this length, needed or not.
	var body bytes.Buffer
	if status, err := bounded.ReadBody(&body, w, r, maxAdminBody); err != nil {
		writeError(w, status, err.Error())
		return
	}
	switch r.URL.Path {
	case "/stats":
		if allow(w, r, http.MethodGet, http.MethodHead) {
			writeJSON(w, http.StatusOK, s.Stats())
		}
	case "/reset":
		if allow(w, r, http.MethodPost) {
			if !s.allowed(w, r) {
				return
			}
			s.Reset()
			writeJSON(w, http.StatusOK, map[string]bool{"ok": true})
		}
	case "/scenario":
		if allow(w, r, http.MethodGet, http.MethodHead, http.MethodPut) {
			if r.Method == http.MethodPut && !s.putScenario(w, r, body.Bytes()) {
				return
			}
			s.writeScenario(w)
		}
	case "/healthz":
		if allow(w, r, http.MethodGet, http.MethodHead) {
			writeJSON(w, http.StatusOK, map[string]bool{"ok": true})
		}
	case "/metrics":
		if allow(w, r, http.MethodGet, http.MethodHead) {
			s.metrics.ServeHTTP(w, r)
		}
	default:
		writeError(w, http.StatusNotFound,
			fmt.Sprintf("no route %q; known are /call, /stats, /reset, /scenario, /healthz, /metrics", r.URL.Path))
	}
}

// writeScenario answers with what is in effect. The answer may be sent back with PUT.
func (s *Server) writeScenario(w http.ResponseWriter) {
	c := s.run.Load().regime.cfg
	writeJSON(w, http.StatusOK, struct {
		Scenario     string         `json:"scenario"`
		Params       map[string]any `json:"params"`
		Seed         uint64         `json:"seed"`
		Cancellation Cancellation   `json:"cancellation"`
		Timeline     []Phase        `json:"timeline,omitempty"`
	}{c.Scenario.Name(), c.Scenario.params, c.Seed, c.Cancellation, c.Timeline})
}

// putScenario replaces scenario and timeline, and seed and cancellation if they are given. It answers if
// it returns false.
func (s *Server) putScenario(w http.ResponseWriter, r *http.Request, body []byte) bool {
	if !s.allowed(w, r) {
		return false
	}
	base := s.Config()
	base.Scenario, base.Timeline = Scenario{}, nil
	cfg, err := ParseConfig(body, base)
	if err == nil && cfg.Token != "" {
		err = errors.New("token: cannot be changed")
	}
	if err == nil {
		err = s.Configure(cfg)
	}
	if err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return false
	}
	s.log.WithField("scenario", cfg.Scenario.String()).Info("scenario changed")
	return true
}

// allowed reports whether the request carries the token, if there is one, and answers with 401 if not.
func (s *Server) allowed(w http.ResponseWriter, r *http.Request) bool {
	if s.token == "" {
		return true
	}
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	// Hashed first, so that the time taken does not tell the token's length either.
	got, want := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(s.token))
	if subtle.ConstantTimeCompare(got[:], want[:]) == 1 && strings.EqualFold(scheme, "bearer") {
		return true
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	writeError(w, http.StatusUnauthorized, fmt.Sprintf("%s %s needs the header Authorization: Bearer TOKEN", r.Method, r.URL.Path))
	return false
}

// allow reports whether the request's method is one of methods, and answers with 405 if not.
func allow(w http.ResponseWriter, r *http.Request, methods ...string) bool {
	list := ""
	for i, m := range methods {
		if r.Method == m {
			return true
		}
		if i > 0 {
			list += ", "
		}
		list += m
	}
	w.Header().Set("Allow", list)
	writeError(w, http.StatusMethodNotAllowed, fmt.Sprintf("method %q on %s is not %s", r.Method, r.URL.Path, list))
	return false
}

func writeError(w http.ResponseWriter, status int, msg string) {
	writeJSON(w, status, map[string]string{"error": msg})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil { // impossible for the values of this package
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n'))
}

// debugs reports whether the logger keeps debug messages, so that a call need not build one in vain.
func debugs(l logrus.FieldLogger) bool {
	switch l := l.(type) {
	case *logrus.Logger:
		return l.IsLevelEnabled(logrus.DebugLevel)
	case *logrus.Entry:
		return l.Logger.IsLevelEnabled(logrus.DebugLevel)
	}
	return true
}
