// Package resilience is the executors: a [Policy] is an ordered stack of
// guards (retry, timeout, breaker, bulkhead) around a call, outermost first.
// Order is meaning: a breaker around a retry sees requests, a breaker inside
// of it sees attempts.
//
// The mechanisms are state machines in packages of their own ([backoff],
// [breaker], [bulkhead]) which take the time as an argument; this package
// gives them the clock, the context and the call.
package resilience

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retrylab/retrylab/resilience/breaker"
)

// Scope says who shares the state of a policy.
type Scope uint8

// The scopes. The zero value is Instance.
const (
	Instance Scope = iota // all callers in the process, as in one service
	VU                    // each virtual user has state of its own
)

// String is the scope's name in policy files.
func (s Scope) String() string { return [...]string{"instance", "vu"}[s] }

// Config describes a policy.
type Config struct {
	Name   string
	Scope  Scope   // for whoever makes policies of this config; a Policy itself is one state
	Guards []Guard // outermost first; none: every request is one bare attempt
}

// Guard is one layer of a policy's configuration: [RetryGuard],
// [TimeoutGuard], [BreakerGuard] or [BulkheadGuard].
type Guard interface {
	// Kind is the guard's name in policy files.
	Kind() string
	// Validate names everything that is wrong with it, in one joined error.
	Validate() error
	// layer makes the running form of a valid guard.
	layer(p *Policy) layer
}

// Call makes one attempt. The context ends when the attempt must. It is
// called on the goroutine that called [Policy.Do], and by a policy that
// retries several times, one after the other.
type Call func(ctx context.Context, a Attempt) Result

// Attempt tells a Call which one it is.
type Attempt struct {
	Policy  string
	Request uint64 // the request's number within its policy, from 1
	Number  int    // from 1, within the request
	Kind    AttemptKind
	Started time.Time
	// Timeout is what is left until the attempt is cut off, by whichever
	// guard or caller's deadline is first. 0: nothing cuts it off.
	Timeout time.Duration
}

// layer runs one guard around the rest of the stack.
type layer interface {
	run(ctx context.Context, r *request, rest []layer) Result
}

// Policy runs requests through its guards. It may be used by many goroutines
// at once, which then share its state.
type Policy struct {
	config   Config
	layers   []layer
	breakers []*breakerLayer
	random   func() float64
	requests atomic.Uint64
	inflight atomic.Int64
	pool     sync.Pool
}

// Option changes how a policy is made.
type Option func(*Policy)

// WithRandom sets the source of the policy's randomness (jitter): numbers in
// [0, 1), safe for use by many goroutines. Default: math/rand/v2.
func WithRandom(random func() float64) Option {
	return func(p *Policy) { p.random = random }
}

// New makes a policy in its initial state. It fails where c is not valid, and
// names every fault.
func New(c Config, options ...Option) (*Policy, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p := &Policy{config: c, random: rand.Float64}
	p.pool.New = func() any { return new(request) }
	for _, option := range options {
		option(p)
	}
	for _, g := range c.Guards {
		l := g.layer(p)
		if b, ok := l.(*breakerLayer); ok {
			p.breakers = append(p.breakers, b)
		}
		p.layers = append(p.layers, l)
	}
	return p, nil
}

// Validate names everything that is wrong with c, each fault with its path,
// in one joined error.
func (c Config) Validate() error {
	var faults []error
	if c.Name == "" {
		faults = append(faults, errors.New("name: is missing"))
	}
	for i, g := range c.Guards {
		if err := g.Validate(); err != nil {
			for _, fault := range unjoin(err) {
				faults = append(faults, fmt.Errorf("guards[%d].%s.%w", i, g.Kind(), fault))
			}
		}
	}
	return errors.Join(faults...)
}

// unjoin splits an error of errors.Join.
func unjoin(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// Name is the policy's name.
func (p *Policy) Name() string { return p.config.Name }

// Config is what the policy was made of. It must not be changed.
func (p *Policy) Config() Config { return p.config }

// Inflight is the number of calls that run now.
func (p *Policy) Inflight() int { return int(p.inflight.Load()) }

// BreakerState is the state of the policy's outermost breaker; ok is false
// where it has none.
func (p *Policy) BreakerState() (state breaker.State, ok bool) {
	if len(p.breakers) == 0 {
		return breaker.Closed, false
	}
	return p.breakers[0].breaker.State(), true
}

// Reset closes the policy's breakers with empty windows. Calls in flight do
// not count towards them. Observers are not told.
func (p *Policy) Reset() {
	now := time.Now()
	for _, b := range p.breakers {
		b.force(breaker.Closed, now, nil, Event{})
	}
}

// Do makes one request: it runs call through the guards. o may be nil. A
// panic of call passes on to the caller after every guard has been told.
func (p *Policy) Do(ctx context.Context, call Call, o Observer) Report {
	r := p.pool.Get().(*request)
	*r = request{policy: p, call: call, observer: o, id: p.requests.Add(1), now: time.Now(), report: Report{Attempts: 1}}
	begin := r.now
	result := r.next(ctx, p.layers)
	report := r.report
	report.Request = r.id
	report.Result = result
	report.End = end(result.Outcome)
	report.Duration = r.now.Sub(begin)
	*r = request{}
	p.pool.Put(r)
	return report
}
