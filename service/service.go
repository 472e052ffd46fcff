// Package service is a caller as an HTTP service: it answers by calling a
// downstream through a policy, and keeps account of what that cost. k of them
// in a row are the tiers of a chain.
package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retrylab/retrylab/downstream"
	"github.com/retrylab/retrylab/downstream/bounded"
	"github.com/retrylab/retrylab/resilience"
	"github.com/retrylab/retrylab/resilience/budget"
	"github.com/retrylab/retrylab/resilience/catalog"
	"github.com/retrylab/retrylab/resilience/httpcall"
	"github.com/sirupsen/logrus"
)

// Config of a [Service].
type Config struct {
	Policies     *catalog.Catalog        // nil: the built-in ones
	Cancellation downstream.Cancellation // of the downstreams
	Seed         uint64                  // of the downstreams
	Logger       logrus.FieldLogger      // nil: nothing is logged
}

// Service is the published lab's application: GET /api/work?policy=&scenario=
// makes one request through a policy to a downstream of its own that fails as
// the scenario says, GET /api/metrics is the account of all requests, and POST
// /api/reset forgets them, the policies' state and the downstreams' counts. It
// may be used by many goroutines at once. End it with [Service.Close].
type Service struct {
	config    Config
	log       logrus.FieldLogger
	transport *http.Transport
	mux       *http.ServeMux
	routes    []string // paths that mux knows
	run       uint64
	requests  atomic.Uint64

	account atomic.Pointer[account]

	mu       sync.Mutex
	callers  map[target]*resilience.Policy
	budgets  map[string]*budget.Registry // of each scenario
	servers  map[string]*downstream.Listener
	shutdown bool
}

// target is what a caller of one policy calls.
type target struct{ policy, scenario string }

// New returns a service that has made no request and started no downstream.
func New(c Config) *Service {
	if c.Policies == nil {
		c.Policies = catalog.Builtin()
	}
	log := c.Logger
	if log == nil {
		silent := logrus.New()
		silent.SetLevel(logrus.PanicLevel)
		log = silent
	}
	s := &Service{
		config: c, log: log, run: rand.Uint64(), mux: http.NewServeMux(),
		transport: &http.Transport{MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: time.Minute},
		callers:   make(map[target]*resilience.Policy), servers: make(map[string]*downstream.Listener),
		budgets: make(map[string]*budget.Registry),
	}
	s.account.Store(newAccount())
	s.route("/api/work", s.work, http.MethodGet, http.MethodHead)
	s.route("/api/metrics", s.metrics, http.MethodGet, http.MethodHead)
	s.route("/api/reset", s.reset, http.MethodPost)
	s.route("/healthz", s.healthy, http.MethodGet, http.MethodHead)
	s.mux.HandleFunc("/", s.nowhere)
	return s
}

// route serves a path to requests of these methods, and refuses others.
func (s *Service) route(path string, serve http.HandlerFunc, methods ...string) {
	s.routes = append(s.routes, path)
	allowed := strings.Join(methods, ", ")
	s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(methods, r.Method) {
			serve(w, r)
			return
		}
		w.Header().Set("Allow", allowed)
		writeJSON(w, http.StatusMethodNotAllowed, map[string]string{"error": fmt.Sprintf("method %q on %s is not %s", r.Method, path, allowed)})
	})
}

// nowhere refuses a request for what there is not.
func (s *Service) nowhere(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusNotFound, &unknown{Message: fmt.Sprintf("no route %q", r.URL.Path), Known: s.routes})
}

// maxIdle is how many connections to a downstream are kept for the next calls.
const maxIdle = 1024

// ServeHTTP answers a request. A body means nothing, but is read to its end
// first: one of more than [downstream.MaxBody] bytes is refused with 413, one
// that has not come within [bounded.BodyTimeout] with 408. A request that is
// refused counts nowhere.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if status, err := bounded.ReadBody(io.Discard, w, r, downstream.MaxBody); err != nil {
		writeJSON(w, status, map[string]string{"error": err.Error()})
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Snapshot is the account of all requests since the last reset.
func (s *Service) Snapshot() Snapshot { return s.account.Load().snapshot() }

// Close ends the downstreams, with the work they still do. Requests in
// progress fail.
func (s *Service) Close(ctx context.Context) error {
	s.mu.Lock()
	s.shutdown = true
	servers := s.servers
	s.servers = nil
	s.mu.Unlock()
	s.transport.CloseIdleConnections()
	var errs []error
	for _, l := range servers {
		errs = append(errs, l.Close(ctx))
	}
	return errors.Join(errs...)
}

// unknown is a name in a request that stands for nothing here.
type unknown struct {
	Message string   `json:"error"`
	Known   []string `json:"known"`
}

func (u *unknown) Error() string { return u.Message }

// find returns the policy and the address of the downstream that a request
// asks for.
func (s *Service) find(t target) (*resilience.Policy, string, error) {
	entry, err := s.config.Policies.Lookup(t.policy)
	if err != nil {
		return nil, "", &unknown{Message: fmt.Sprintf("unknown policy %q", t.policy), Known: s.config.Policies.Names()}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shutdown {
		return nil, "", errors.New("the service is being ended")
	}
	server, ok := s.servers[t.scenario]
	if !ok {
		scenario, err := downstream.ParseScenario(t.scenario, nil)
		if err != nil {
			return nil, "", &unknown{Message: fmt.Sprintf("unknown scenario %q", t.scenario), Known: scenarios()}
		}
		server, err = downstream.Listen("", downstream.Config{
			Scenario: scenario, Seed: s.config.Seed, Cancellation: s.config.Cancellation, Logger: s.log,
		})
		if err != nil {
			return nil, "", err
		}
		s.servers[t.scenario] = server
		s.budgets[t.scenario] = new(budget.Registry)
	}
	policy, ok := s.callers[t]
	if !ok {
		if policy, err = resilience.New(entry.Config, resilience.WithBudgets(s.budgets[t.scenario])); err != nil {
			return nil, "", err
		}
		s.callers[t] = policy
	}
	return policy, server.URL(), nil
}

func scenarios() []string {
	var names []string
	for _, info := range downstream.Scenarios() {
		names = append(names, info.Name)
	}
	return names
}

// work makes one request through a policy.
func (s *Service) work(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	t := target{policy: query.Get("policy"), scenario: query.Get("scenario")}
	policy, base, err := s.find(t)
	var name *unknown
	if errors.As(err, &name) {
		writeJSON(w, http.StatusBadRequest, name)
		return
	}
	if err != nil {
		writeJSON(w, http.StatusServiceUnavailable, map[string]string{"error": err.Error()})
		return
	}
	record := s.account.Load().begin(s.log)
	id := fmt.Sprintf("%016x-%d", s.run, s.requests.Add(1))
	report := policy.Do(r.Context(), resilience.Request{
		Observer: record,
		Key:      t.scenario,
		Call: func(ctx context.Context, a resilience.Attempt) resilience.Result {
			return httpcall.Do(ctx, s.transport, a, httpcall.Request{URL: base + "/call", ID: id})
		},
	})
	record.end(report)
	record.headers(w.Header(), report)
	status := http.StatusOK
	if report.End != resilience.Success {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, map[string]any{
		"success": report.End == resilience.Success, "policy": t.policy, "scenario": t.scenario,
		"attempts": report.Attempts, "outcome": report.Outcome.String(),
	})
}

// metrics answers with the account of all requests since the last reset.
func (s *Service) metrics(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, s.Snapshot())
}

// healthy says that the service answers.
func (s *Service) healthy(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]bool{"ok": true})
}

// reset forgets everything. Requests in progress count nowhere.
func (s *Service) reset(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	for _, p := range s.callers {
		p.Reset()
	}
	for _, l := range s.servers {
		l.Server().Reset()
	}
	s.account.Store(newAccount())
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, map[string]bool{"ok": true})
}

// headers tell the client what its request cost.
func (r *recorder) headers(h http.Header, report resilience.Report) {
	flag := func(o resilience.Outcome) string {
		if report.Outcome == o {
			return "1"
		}
		return "0"
	}
	h.Set("X-Attempts", strconv.Itoa(report.Attempts))
	h.Set("X-Downstream-Calls", strconv.Itoa(report.Calls))
	h.Set("X-Timeout-Count", strconv.Itoa(report.Timeouts))
	h.Set("X-Circuit-Breaker-Rejected", flag(resilience.BreakerOpen))
	h.Set("X-Bulkhead-Rejected", flag(resilience.BulkheadFull))
	latencies := make([]string, len(r.attemptMs))
	for i, ms := range r.attemptMs {
		latencies[i] = strconv.FormatFloat(ms, 'f', 3, 64)
	}
	h.Set("X-Attempt-Latencies-Ms", strings.Join(latencies, ","))
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"error":"the answer has no JSON form"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)+1))
	w.WriteHeader(status)
	_, _ = w.Write(append(slices.Clip(data), '\n')) // the client may be gone
}
