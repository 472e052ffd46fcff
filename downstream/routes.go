package downstream

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
)

const (
	// maxAdminBody bounds the body of a PUT /scenario, in bytes, and adminPatience the time to send it.
	maxAdminBody  = 64 << 10
	adminPatience = 10 * time.Second
)

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/call":
		s.call(w, r)
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
			if r.Method == http.MethodPut && !s.putScenario(w, r) {
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
func (s *Server) putScenario(w http.ResponseWriter, r *http.Request) bool {
	if !s.allowed(w, r) {
		return false
	}
	// Where the deadline cannot be set, the server that we are part of has its own.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(adminPatience))
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAdminBody))
	_ = control.SetReadDeadline(time.Time{})
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		writeError(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("body is longer than %d bytes", tooLong.Limit))
		return false
	case err != nil:
		writeError(w, http.StatusBadRequest, fmt.Sprintf("body cannot be read: %v", err))
		return false
	}
	base := s.Config()
	base.Scenario, base.Timeline = Scenario{}, nil
	cfg, err := ParseConfig(data, base)
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
