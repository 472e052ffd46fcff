package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retrylab/retrylab/downstream"
	"github.com/retrylab/retrylab/downstream/bounded"
	"github.com/retrylab/retrylab/downstream/stats"
	"github.com/retrylab/retrylab/resilience"
	"github.com/retrylab/retrylab/resilience/httpcall"
	"github.com/sirupsen/logrus"
)

// ChainConfig describes services in a row, each of which answers by calling the
// next one through a policy of its own.
type ChainConfig struct {
	Tiers []Tier // as a request meets them; at least one, at most MaxTiers
	Next  string // base URL of what the last tier calls: its /call
	// Addr is where the first tier listens, "host:port"; "" is
	// [downstream.DefaultAddr]. The others have free ports of loopback.
	Addr string
	// Public lets Addr be one that other machines can reach.
	Public bool
	// Logger gets the changes of the tiers' breakers; nil: nobody.
	Logger logrus.FieldLogger
}

// MaxTiers bounds the length of a chain.
const MaxTiers = 16

// Tier is one service of a chain.
type Tier struct {
	// Policy is how the tier calls the next one. Its state is the tier's own,
	// that of named budgets included.
	Policy resilience.Config
	// PassDeadline ends the tier's own request when the patience that its
	// caller has told (see httpcall.HeaderTimeout) is over. Without it, as in
	// most services, a tier goes on with its retries for nobody.
	PassDeadline bool
}

// TierStats is the account of one tier.
type TierStats struct {
	Policy        string  `json:"policy"`
	PassDeadline  bool    `json:"pass_deadline"`
	Received      int64   `json:"received"`      // requests of its caller
	Calls         int64   `json:"calls"`         // what it sent to the next
	Succeeded     int64   `json:"succeeded"`     // requests
	Amplification float64 `json:"amplification"` // Calls / Received; 0 where nothing was received
}

// ChainStats is the account of a chain.
type ChainStats struct {
	Tiers []TierStats `json:"tiers"` // as a request meets them
	// Amplification is the calls of the last tier for each request that the
	// first received; 0 where it received none.
	Amplification float64 `json:"amplification"`
}

// Account is that of a server with a chain in front of it.
type Account struct {
	stats.Snapshot // of the server
	ChainStats
}

// Chain is tiers that listen in this process, but over real HTTP. It may be used
// by many goroutines at once. End it with [Chain.Close].
//
// The first tier stands for the server at the end of the chain: beside its own
// /call and /tiers (the [ChainStats]) it passes every route on to that server,
// where /stats gets the chain's account too (see [Account]) and /reset resets
// the chain too. Each tier answers a call with 200 where its request succeeded
// and with 503 where not. It reads the body of a call, 1 MiB at most, and calls
// the next tier with GET.
type Chain struct {
	tiers []*tier // as a request meets them
}

// StartChain starts a chain's services. It fails where the config is not valid
// or a policy cannot be made; nothing is left running then.
func StartChain(c ChainConfig) (*Chain, error) {
	if err := checkCount(len(c.Tiers)); err != nil {
		return nil, err
	}
	end, err := url.Parse(c.Next)
	if err != nil || end.Host == "" {
		return nil, fmt.Errorf("next: %q is not an absolute URL", c.Next)
	}
	chain := new(Chain)
	next := c.Next
	for i := range slices.Backward(c.Tiers) {
		t, err := startTier(c, i, next)
		if err != nil {
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			_ = chain.Close(ended) // the reason it could not be started says more
			return nil, fmt.Errorf("tiers[%d]: %w", i, err)
		}
		chain.tiers = slices.Insert(chain.tiers, 0, t)
		next = t.url
	}
	chain.enter(end)
	return chain, nil
}

func checkCount(tiers int) error {
	if tiers < 1 || tiers > MaxTiers {
		return fmt.Errorf("tiers: %d is not in 1 … %d", tiers, MaxTiers)
	}
	return nil
}

// URL is the base URL of the first tier, whose /call is the chain's entrance.
func (c *Chain) URL() string { return c.tiers[0].url }

// Stats is the account of the chain.
func (c *Chain) Stats() ChainStats {
	var s ChainStats
	for _, t := range c.tiers {
		s.Tiers = append(s.Tiers, t.stats())
	}
	s.Amplification = perRequest(s.Tiers[len(s.Tiers)-1].Calls, s.Tiers[0].Received)
	return s
}

func perRequest(calls, requests int64) float64 {
	if requests == 0 {
		return 0
	}
	return float64(calls) / float64(requests)
}

// Reset forgets the accounts and puts the policies back to how they began.
func (c *Chain) Reset() {
	for _, t := range c.tiers {
		t.counts.Store(new(tierCounts))
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
	mux       *http.ServeMux
	server    *bounded.Server
	url       string
	served    chan struct{}
	ctx       context.Context // of all the tier's work
	cancel    context.CancelFunc

	requests atomic.Int64
	counts   atomic.Pointer[tierCounts] // of the requests since the last reset

	working sync.WaitGroup // handlers
}

// tierCounts is a tier's account. A request counts where it began, so that a
// reset in the middle of it leaves no part of it behind.
type tierCounts struct{ received, calls, succeeded atomic.Int64 }

// startTier starts the i-th tier, which calls the next one.
func startTier(c ChainConfig, i int, next string) (*tier, error) {
	policy, err := resilience.New(c.Tiers[i].Policy)
	if err != nil {
		return nil, err
	}
	addr, public := "", false
	if i == 0 {
		addr, public = c.Addr, c.Public
	}
	listener, err := downstream.Bind(addr, public)
	if err != nil {
		return nil, err
	}
	at := *listener.Addr().(*net.TCPAddr)
	if at.IP.IsUnspecified() {
		at.IP = net.IPv4(127, 0, 0, 1)
	}
	t := &tier{
		policy: policy, pass: c.Tiers[i].PassDeadline, next: next, log: c.Logger, run: rand.Uint64(),
		transport: &http.Transport{MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: time.Minute},
		mux:       http.NewServeMux(),
		url:       "http://" + at.String(),
		served:    make(chan struct{}),
	}
	t.counts.Store(new(tierCounts))
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.mux.HandleFunc("/call", t.call)
	t.server = bounded.New(&http.Server{
		Handler:     t,
		BaseContext: func(net.Listener) context.Context { return t.ctx },
		ErrorLog:    nobody(), // its complaints are about single connections
	})
	go func() {
		defer close(t.served)
		_ = t.server.Serve(listener) // ends with Shutdown
	}()
	return t, nil
}

// nobody takes the messages that net/http would print.
func nobody() *log.Logger { return log.New(io.Discard, "", 0) }

// call answers a request by calling the next tier.
func (t *tier) call(w http.ResponseWriter, r *http.Request) {
	t.working.Add(1)
	defer t.working.Done()
	counts := t.counts.Load()
	counts.received.Add(1)
	if status, err := bounded.ReadBody(io.Discard, w, r, downstream.MaxBody); err != nil {
		writeJSON(w, status, map[string]string{"error": err.Error()})
		return
	}
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
			counts.calls.Add(1)
			return httpcall.Do(ctx, t.transport, a, httpcall.Request{URL: t.next + "/call", ID: id})
		},
	})
	status := http.StatusServiceUnavailable
	if report.End == resilience.Success {
		status = http.StatusOK
		counts.succeeded.Add(1)
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
	counts := t.counts.Load()
	s := TierStats{
		Policy: t.policy.Name(), PassDeadline: t.pass,
		Received: counts.received.Load(), Calls: counts.calls.Load(), Succeeded: counts.succeeded.Load(),
	}
	s.Amplification = perRequest(s.Calls, s.Received)
	return s
}

// close lets the tier's work end until ctx does, then cuts it off.
func (t *tier) close(ctx context.Context) error {
	err := t.server.Shutdown(ctx)
	t.cancel()
	if err != nil {
		err = fmt.Errorf("close the tier of %s at %s: requests in progress were cut: %w", t.policy.Name(), t.url, err)
		_ = t.server.Close() // its error is that of a listener closed already
	}
	<-t.served
	t.working.Wait()
	t.transport.CloseIdleConnections()
	return err
}
