// Package downstream is the HTTP server that fails in controlled ways: the thing a policy is measured
// against. It works in real time over real HTTP and knows nothing of policies.
//
// A call to /call runs through one pipeline: admit (the body is read), serve (the server works for as
// long as the scenario's fault says), answer. What becomes of it is booked in a ledger (package stats).
// The n-th call since the last reset has the same fate for the same seed, whatever the order in which
// calls overlap.
package downstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/retrylab/retrylab/downstream/faults"
	"github.com/retrylab/retrylab/downstream/stats"
)

// MaxBody bounds the body of a call, in bytes. A longer one is answered with 413.
const MaxBody = 1 << 20

// Config says what a Server serves.
type Config struct {
	// Scenario is the failure mode; required.
	Scenario Scenario
	// Seed decides the fate of every call. 0 is a seed like any other.
	Seed uint64
	// Cancellation says what becomes of a call whose client has gone; [Ignore] by default.
	Cancellation Cancellation
	// Public lets [Listen] bind an address that other machines can reach. [New] does not look at it.
	Public bool
	// Logger is told of every call at debug level and of the listener's troubles at error level; nil
	// discards.
	Logger logrus.FieldLogger
}

// Server is the failing server as an [http.Handler]. Make one with [New]. It is safe for concurrent use.
//
// Routes: /call (any method; 200 or the fault's status, body {"call":n,"ok":true|false}), GET /stats (the
// [stats.Snapshot]), POST /reset, GET /scenario, GET /healthz. All else is 404, another method 405; the
// body of an error is {"error":"…"}.
type Server struct {
	fault        faults.Fault
	scenario     Scenario
	seed         uint64
	cancellation Cancellation
	log          logrus.FieldLogger
	born         time.Time
	ledger       atomic.Pointer[stats.Ledger]

	halted   chan struct{} // closed when work in flight must stop, whatever the cancellation
	haltOnce sync.Once
}

// New returns a Server. The error joins one line for every fault of the configuration.
func New(cfg Config) (*Server, error) {
	var errs []error
	if cfg.Scenario.fault == nil {
		errs = append(errs, fmt.Errorf("scenario: none given; known are %s", scenarioNames()))
	}
	if err := cfg.Cancellation.check(); err != nil {
		errs = append(errs, err)
	}
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	if cfg.Logger == nil {
		quiet := logrus.New()
		quiet.SetOutput(io.Discard)
		quiet.SetLevel(logrus.PanicLevel)
		cfg.Logger = quiet
	}
	s := &Server{
		fault: cfg.Scenario.fault, scenario: cfg.Scenario, seed: cfg.Seed, cancellation: cfg.Cancellation,
		log: cfg.Logger, born: time.Now(), halted: make(chan struct{}),
	}
	s.Reset()
	return s, nil
}

// Stats returns the counters at one instant.
func (s *Server) Stats() stats.Snapshot {
	now := time.Now()
	snap := s.ledger.Load().Snapshot(now)
	snap.Scenario, snap.Seed = s.scenario.Name(), s.seed
	snap.UptimeMs = float64(now.Sub(s.born)) / float64(time.Millisecond)
	return snap
}

// Reset zeroes all counters and the call number, so that fates repeat from the first. Calls in flight
// go on, but are no longer counted anywhere; connections stay open and are not dials of the new count.
func (s *Server) Reset() { s.ledger.Store(stats.NewLedger(time.Now())) }

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
			s.Reset()
			writeJSON(w, http.StatusOK, map[string]bool{"ok": true})
		}
	case "/scenario":
		if allow(w, r, http.MethodGet, http.MethodHead) {
			writeJSON(w, http.StatusOK, struct {
				Scenario     string         `json:"scenario"`
				Params       map[string]any `json:"params"`
				Seed         uint64         `json:"seed"`
				Cancellation Cancellation   `json:"cancellation"`
			}{s.scenario.Name(), s.scenario.params, s.seed, s.cancellation})
		}
	case "/healthz":
		if allow(w, r, http.MethodGet, http.MethodHead) {
			writeJSON(w, http.StatusOK, map[string]bool{"ok": true})
		}
	default:
		writeError(w, http.StatusNotFound,
			fmt.Sprintf("no route %q; known are /call, /stats, /reset, /scenario, /healthz", r.URL.Path))
	}
}

// call books one call around its way through the pipeline.
func (s *Server) call(w http.ResponseWriter, r *http.Request) {
	who := readAttempt(r.Header)
	c := s.ledger.Load().Receive(time.Now(), stats.Arrival{Patience: who.patience, Retry: who.number > 1})
	v := verdict{outcome: stats.Panicked}
	settle := func() {
		c.End(time.Now(), v.outcome)
		if debugs(s.log) {
			s.log.WithFields(logrus.Fields{
				"call": c.N(), "attempt": who.number, "request_id": who.requestID, "outcome": v.outcome,
			}).Debug("call ended")
		}
	}
	defer func() {
		if v.outcome == stats.Panicked {
			settle()
		}
	}()

	v = s.pass(w, r, c)
	// Settled before the first byte of the answer is written: a client that has its answer never finds
	// its own call still in flight.
	settle()
	switch {
	case v.outcome == stats.Abandoned:
		// Nobody is there to be answered.
	case v.outcome == stats.ServerClosed:
		panic(http.ErrAbortHandler) // ends the connection without an answer
	case v.complaint != "":
		writeError(w, v.status, v.complaint)
	default:
		answer(w, c.N(), v.status)
	}
}

// verdict is how a call ends.
type verdict struct {
	outcome   stats.Outcome
	status    int    // of the answer; 0: there is none
	complaint string // what was wrong with the call itself; "": nothing
}

// pass takes a call through the pipeline: admit, serve.
func (s *Server) pass(w http.ResponseWriter, r *http.Request, c *stats.Call) verdict {
	if err := drain(w, r); err != nil {
		var tooLong *http.MaxBytesError
		var network net.Error
		switch {
		case errors.As(err, &tooLong):
			return verdict{stats.HTTP4xx, http.StatusRequestEntityTooLarge,
				fmt.Sprintf("body is longer than %d bytes", tooLong.Limit)}
		case errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &network):
			return verdict{outcome: s.lost()}
		}
		return verdict{stats.HTTP4xx, http.StatusBadRequest, fmt.Sprintf("body cannot be read: %v", err)}
	}
	ctx := r.Context()
	if ctx.Err() != nil {
		c.Gone(time.Now())
		if s.cancellation != Ignore {
			return verdict{outcome: s.lost()}
		}
	}
	plan := s.fault.Plan(faults.Call{N: c.N(), Seed: s.seed})
	c.Start(time.Now())
	if outcome := s.work(ctx, c, plan.Delay); outcome != stats.Finished {
		return verdict{outcome: outcome}
	}
	if plan.Status == 0 {
		plan.Status = http.StatusOK
	}
	return verdict{outcome: stats.OutcomeOf(plan.Status), status: plan.Status}
}

// work is busy for d, or less if it is cut. It returns [stats.Finished] if the client is still there at
// the end.
func (s *Server) work(ctx context.Context, c *stats.Call, d time.Duration) stats.Outcome {
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		gone, known := ctx.Done(), false
		for working := true; working; {
			select {
			case <-timer.C:
				working = false
			case <-gone:
				c.Gone(time.Now())
				if s.cancellation == MidWork {
					return s.lost()
				}
				gone, known = nil, true // only the timer and the halt are left to wait for
			case <-s.halted:
				if known {
					return stats.Abandoned
				}
				return stats.ServerClosed
			}
		}
	}
	if ctx.Err() != nil {
		return s.lost()
	}
	return stats.Finished
}

// lost returns the outcome of a call whose connection has ended: by the client or by a halt.
func (s *Server) lost() stats.Outcome {
	select {
	case <-s.halted:
		return stats.ServerClosed
	default:
		return stats.Abandoned
	}
}

// halt cuts all work in flight, now and from now on.
func (s *Server) halt() { s.haltOnce.Do(func() { close(s.halted) }) }

// drain reads the body to its end, within [MaxBody]. Only then does net/http watch the connection, and
// only by that watch does a handler learn that its client has gone.
func drain(w http.ResponseWriter, r *http.Request) error {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	_, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, MaxBody))
	return err
}

func answer(w http.ResponseWriter, n uint64, status int) {
	b := make([]byte, 0, 48)
	b = append(b, `{"call":`...)
	b = strconv.AppendUint(b, n, 10)
	b = append(b, `,"ok":`...)
	b = strconv.AppendBool(b, status < 400)
	b = append(b, "}\n"...)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b) // a client that leaves now has been answered
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
