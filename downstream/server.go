// Package downstream is the HTTP server that fails in controlled ways: the thing a policy is measured
// against. It works in real time over real HTTP and knows nothing of policies.
//
// A call to /call runs through one pipeline: admit (the body is read; some scenarios turn calls away),
// queue (where the scenario has a finite number of servers), serve (the server works for as long as the
// scenario's fault says), answer. What becomes of it is booked in a ledger (package stats). What a
// scenario draws for the n-th call since the last reset is the same for the same seed, whatever the order
// in which calls overlap; how long a call waits in a queue depends on the load, as it must.
package downstream

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/retrylab/retrylab/downstream/stats"
)

// MaxBody bounds the body of a call, in bytes. A longer one is answered with 413, and one that has not
// come within [bounded.BodyTimeout] with 408.
const MaxBody = 1 << 20

// Config says what a Server serves.
type Config struct {
	// Scenario is the failure mode; required.
	Scenario Scenario
	// Timeline puts other scenarios in the place of Scenario for a while. Its phases may come in any
	// order but not overlap; nil: none.
	Timeline []Phase
	// Seed decides the fate of every call. 0 is a seed like any other.
	Seed uint64
	// Cancellation says what becomes of a call whose client has gone; [Ignore] by default.
	Cancellation Cancellation
	// Token must be given, as "Authorization: Bearer TOKEN", to change the server: to POST /reset and to
	// PUT /scenario. "": everybody may.
	Token string
	// Public lets [Listen] bind an address that other machines can reach. [New] does not look at it.
	Public bool
	// Logger is told of every call at debug level and of the listener's troubles at error level; nil
	// discards.
	Logger logrus.FieldLogger
}

func (c Config) check() error {
	var errs []error
	if c.Scenario.fault == nil {
		errs = append(errs, fmt.Errorf("scenario: none given; known are %s", scenarioNames()))
	}
	if err := c.Cancellation.check(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(append(errs, checkTimeline(c.Timeline)...)...)
}

// Server is the failing server as an [http.Handler]. Make one with [New]. It is safe for concurrent use.
//
// Routes: /call (any method; 200 or the fault's status, body {"call":n,"ok":true|false}), GET /stats (the
// [stats.Snapshot]), POST /reset, GET and PUT /scenario, GET /healthz, GET /metrics (Prometheus). All
// else is 404, another method 405, a missing token 401, a body that does not come 408; the body of an
// error is {"error":"…"}.
type Server struct {
	log   logrus.FieldLogger
	token string
	born  time.Time

	metrics http.Handler

	change sync.Mutex // held while run is replaced
	run    atomic.Pointer[run]

	halted   chan struct{} // closed when work in flight must stop, whatever the cancellation
	haltOnce sync.Once
}

// run is what a call meets on arrival and keeps to its end: where it is booked and what its fate is.
type run struct {
	ledger *stats.Ledger
	regime *regime
}

// New returns a Server. The error joins one line for every fault of the configuration.
func New(cfg Config) (*Server, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		quiet := logrus.New()
		quiet.SetOutput(io.Discard)
		quiet.SetLevel(logrus.PanicLevel)
		cfg.Logger = quiet
	}
	now := time.Now()
	s := &Server{log: cfg.Logger, token: cfg.Token, born: now, halted: make(chan struct{})}
	s.run.Store(&run{stats.NewLedger(now), newRegime(cfg, now)})
	s.metrics = metricsHandler(s)
	return s, nil
}

// Stats returns the counters at one instant.
func (s *Server) Stats() stats.Snapshot {
	now := time.Now()
	run := s.run.Load()
	snap := run.ledger.Snapshot(now)
	snap.Scenario, snap.Seed = run.regime.cfg.Scenario.Name(), run.regime.cfg.Seed
	snap.UptimeMs = float64(now.Sub(s.born)) / float64(time.Millisecond)
	return snap
}

// Reset zeroes all counters and the call number, so that fates repeat from the first, empties queues,
// buckets and caches, and begins the timeline anew. Calls in flight go on, in the queue they are in, but
// are no longer counted anywhere; connections stay open and are not dials of the new count.
func (s *Server) Reset() {
	s.change.Lock()
	defer s.change.Unlock()
	now := time.Now()
	s.run.Store(&run{stats.NewLedger(now), newRegime(s.run.Load().regime.cfg, now)})
}

// Configure puts another scenario, timeline, seed and cancellation into effect, for calls that arrive
// from now on; the rest of cfg is not looked at. Calls in flight go on as they began. Counters and call
// numbers go on too, while the age of the scenario and of the timeline begins anew. The error is that of
// [New], and then nothing has changed.
func (s *Server) Configure(cfg Config) error {
	if err := cfg.check(); err != nil {
		return err
	}
	s.change.Lock()
	defer s.change.Unlock()
	s.run.Store(&run{s.run.Load().ledger, newRegime(cfg, time.Now())})
	return nil
}

// Config returns the scenario, timeline, seed and cancellation in effect; the rest is zero.
func (s *Server) Config() Config {
	c := s.run.Load().regime.cfg
	return Config{Scenario: c.Scenario, Timeline: c.Timeline, Seed: c.Seed, Cancellation: c.Cancellation}
}

// halt cuts all work in flight, now and from now on.
func (s *Server) halt() { s.haltOnce.Do(func() { close(s.halted) }) }
