package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retrylab/retrylab/downstream"
	"github.com/retrylab/retrylab/resilience"
	"github.com/retrylab/retrylab/resilience/httpcall"
	"github.com/sirupsen/logrus"
)

// ChainConfig describes services in a row, each of which answers by calling the
// next one through a policy of its own.
type ChainConfig struct {
	Tiers []Tier // as a request meets them; at least one, at most MaxTiers
	Next  string // base URL of what the last tier calls: its /call
	// Logger gets the changes of the tiers' breakers; nil: nobody.
	Logger logrus.FieldLogger
}

// MaxTiers bounds the length of a chain.
const MaxTiers = 16

// bodyPatience is how long a tier waits for the body of a request.
const bodyPatience = 10 * time.Second

// Tier is one service of a chain.
type Tier struct {
	Policy resilience.Config
	// PassDeadline ends the tier's own request when the patience that its
	// caller has told (see httpcall.HeaderTimeout) is over. Without it, as in
	// most services, a tier goes on with its retries for nobody.
	PassDeadline bool
}

// TierStats is the account of one tier.
type TierStats struct {
	Policy        string  `json:"policy"`
	Received      int64   `json:"received"`      // requests of its caller
	Calls         int64   `json:"calls"`         // what it sent to the next
	Succeeded     int64   `json:"succeeded"`     // requests
	Amplification float64 `json:"amplification"` // Calls / Received; 0 where nothing was received
}

// Chain is tiers that listen on loopback, in this process but over real HTTP.
// It may be used by many goroutines at once. End it with [Chain.Close].
type Chain struct {
	tiers []*tier // as a request meets them
}

// StartChain starts a chain's services. It fails where the config is not valid
// or a policy cannot be made; nothing is left running then.
func StartChain(c ChainConfig) (*Chain, error) {
	if len(c.Tiers) < 1 || len(c.Tiers) > MaxTiers {
		return nil, fmt.Errorf("tiers: %d is not in 1 … %d", len(c.Tiers), MaxTiers)
	}
	chain := new(Chain)
	next := c.Next
	for i, config := range slices.Backward(c.Tiers) {
		t, err := startTier(config, next, c.Logger)
		if err != nil {
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			_ = chain.Close(ended) // the reason it could not be started says more
			return nil, fmt.Errorf("tiers[%d]: %w", i, err)
		}
		chain.tiers = slices.Insert(chain.tiers, 0, t)
		next = t.url
	}
	return chain, nil
}

// URL is the base URL of the first tier, whose /call is the chain's entrance.
func (c *Chain) URL() string { return c.tiers[0].url }

// Stats is the account of each tier, as a request meets them.
func (c *Chain) Stats() []TierStats {
	stats := make([]TierStats, len(c.tiers))
	for i, t := range c.tiers {
		stats[i] = t.stats()
	}
	return stats
}

// Reset forgets the accounts and puts the policies back to how they began.
func (c *Chain) Reset() {
	for _, t := range c.tiers {
		t.received.Store(0)
		t.calls.Store(0)
		t.succeeded.Store(0)
		t.policy.Reset()
	}
}

// Close ends the tiers, the first one first, so that none loses the one it
// calls. Requests in progress may end until ctx does.
func (c *Chain) Close(ctx context.Context) error {
	var errs []error
	for _, t := range c.tiers {
		errs = append(errs, t.close(ctx))
	}
	return errors.Join(errs...)
}

// tier is a running service of a chain.
type tier struct {
	policy    *resilience.Policy
	pass      bool
	next      string
	log       logrus.FieldLogger
	run       uint64
	transport *http.Transport
	server    *http.Server
	url       string
	served    chan struct{}
	ctx       context.Context // of all the tier's work
	cancel    context.CancelFunc

	requests, received, calls, succeeded atomic.Int64

	working sync.WaitGroup // handlers
}

func startTier(c Tier, next string, log logrus.FieldLogger) (*tier, error) {
	policy, err := resilience.New(c.Policy)
	if err != nil {
		return nil, err
	}
	listener, err := downstream.Bind("", false)
	if err != nil {
		return nil, err
	}
	t := &tier{
		policy: policy, pass: c.PassDeadline, next: next, log: log, run: rand.Uint64(),
		transport: &http.Transport{MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: time.Minute},
		url:       "http://" + listener.Addr().String(),
		served:    make(chan struct{}),
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	mux := http.NewServeMux()
	mux.HandleFunc("/call", t.call)
	t.server = &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return t.ctx },
	}
	go func() {
		defer close(t.served)
		_ = t.server.Serve(listener) // ends with Shutdown
	}()
	return t, nil
}

// call answers a request by calling the next tier.
func (t *tier) call(w http.ResponseWriter, r *http.Request) {
	t.working.Add(1)
	defer t.working.Done()
	t.received.Add(1)
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyPatience))
	_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, 1<<20)) // so that a caller who leaves is noticed
	_ = control.SetReadDeadline(time.Time{})
	ctx := r.Context()
	if ms, err := strconv.ParseInt(r.Header.Get(httpcall.HeaderTimeout), 10, 32); t.pass && err == nil && ms > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(ms)*time.Millisecond)
		defer cancel()
	} else if !t.pass { // its work goes on whoever waits for it
		ctx = t.ctx
	}
	id := fmt.Sprintf("%016x-%d", t.run, t.requests.Add(1))
	report := t.policy.Do(ctx, resilience.Request{
		Observer: t,
		Call: func(ctx context.Context, a resilience.Attempt) resilience.Result {
			t.calls.Add(1)
			return httpcall.Do(ctx, t.transport, a, httpcall.Request{URL: t.next + "/call", ID: id})
		},
	})
	status := http.StatusServiceUnavailable
	if report.End == resilience.Success {
		status = http.StatusOK
		t.succeeded.Add(1)
	}
	writeJSON(w, status, map[string]any{"ok": report.End == resilience.Success, "outcome": report.Outcome.String()})
}

// Observe logs the changes of the tier's breaker.
func (t *tier) Observe(e resilience.Event) {
	if e.Kind == resilience.BreakerChanged && t.log != nil {
		t.log.WithFields(logrus.Fields{
			"tier": t.url, "policy": e.Policy, "from": e.From.String(), "to": e.To.String(),
		}).Info("circuit breaker changed state")
	}
}

func (t *tier) stats() TierStats {
	s := TierStats{
		Policy: t.policy.Name(), Received: t.received.Load(), Calls: t.calls.Load(), Succeeded: t.succeeded.Load(),
	}
	if s.Received > 0 {
		s.Amplification = float64(s.Calls) / float64(s.Received)
	}
	return s
}

// close lets the tier's work end until ctx does, then cuts it off.
func (t *tier) close(ctx context.Context) error {
	err := t.server.Shutdown(ctx)
	t.cancel()
	if err != nil {
		_ = t.server.Close() // its error is that of a listener closed already
	}
	<-t.served
	t.working.Wait()
	t.transport.CloseIdleConnections()
	return err
}
