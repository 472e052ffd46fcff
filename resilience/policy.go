// Package resilience is the executors: a [Policy] is an ordered stack of
// guards around a call, outermost first. Order is meaning: a breaker around a
// retry sees requests, a breaker inside of it sees attempts.
//
// The mechanisms are state machines in packages of their own (backoff,
// breaker, budget, bulkhead, hedge, ratelimit, throttle), which take the time
// and random numbers as arguments; this package gives them the clock, the
// context and the call.
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
	"github.com/retrylab/retrylab/resilience/budget"
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
// [TimeoutGuard], [BreakerGuard], [BulkheadGuard], [RateLimitGuard],
// [HedgeGuard], [ThrottleGuard] or [FallbackGuard].
type Guard interface {
	// Kind is the guard's name in policy files.
	Kind() string
	// Validate names everything that is wrong with it, in one joined error.
	Validate() error
	// layer makes the running form of a valid guard.
	layer(*maker) (layer, error)
}

// Call makes one attempt. The context ends when the attempt must. It is called
// on the goroutine that called [Policy.Do], one attempt after the other; only
// a hedge calls it on other goroutines, several at once, and waits for all of
// them: such a call must end soon after its context has.
type Call func(ctx context.Context, a Attempt) Result

// Attempt tells a Call which one it is.
type Attempt struct {
	Policy  string
	Request uint64 // a number that no other request of the policy has, from 1
	Number  int    // from 1, within the request
	Kind    AttemptKind
	Started time.Time
	// Timeout is what is left until the attempt is cut off, by whichever
	// guard or caller's deadline is first. 0: nothing cuts it off.
	Timeout time.Duration
}

// Request is one logical request of a user. Only Call is needed.
type Request struct {
	Call     Call
	Observer Observer // nil: nobody is told
	// Fallback stands in for the answer where the policy's fallback is a
	// function. It gets the last cause. An error of its own fails the request.
	Fallback func(context.Context, Result) (any, error)
	// Key tells apart the answers that a fallback's cache keeps. Requests of
	// the same key have the same answer.
	Key string
}

// layer runs one guard around the rest of the stack.
type layer interface {
	run(ctx context.Context, b *branch, rest []layer) Result
}

// Policy runs requests through its guards. It may be used by many goroutines
// at once, which then share its state.
type Policy struct {
	config Config
	layers []layer
	random func() float64
	pool   sync.Pool

	// What requests write is kept off the cache lines of what every
	// request reads.
	_        [cacheLine]byte
	ids      atomic.Uint64 // the last number of the blocks handed out
	inflight atomic.Int64
	_        [cacheLine]byte
}

// cacheLine is the size of a processor's cache line, or two where it fetches
// them in pairs.
const cacheLine = 128

// maker is what a policy's layers are made with.
type maker struct {
	policy  *Policy
	budgets *budget.Registry
	used    map[budget.Budget]bool // by a layer made before
}

// Option changes how a policy is made.
type Option func(*maker)

// WithRandom sets the source of the policy's randomness (jitter, throttle):
// numbers in [0, 1), safe for use by many goroutines. Default: math/rand/v2.
func WithRandom(random func() float64) Option {
	return func(m *maker) { m.policy.random = random }
}

// WithBudgets shares the named budgets of a registry with other policies.
// Default: a registry of the policy's own.
func WithBudgets(r *budget.Registry) Option {
	return func(m *maker) { m.budgets = r }
}

// New makes a policy in its initial state. It fails where c is not valid,
// naming every fault, and where a named budget has other settings already.
func New(c Config, options ...Option) (*Policy, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p := &Policy{config: c, random: rand.Float64}
	p.pool.New = func() any { return new(request) }
	m := &maker{policy: p, budgets: new(budget.Registry), used: make(map[budget.Budget]bool)}
	for _, option := range options {
		option(m)
	}
	for i, g := range c.Guards {
		l, err := g.layer(m)
		if err != nil {
			return nil, fmt.Errorf("guards[%d].%s: %w", i, g.Kind(), err)
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
	hedged := false
	for i, g := range c.Guards {
		if err := g.Validate(); err != nil {
			for _, fault := range unjoin(err) {
				faults = append(faults, fmt.Errorf("guards[%d].%s.%w", i, g.Kind(), fault))
			}
		}
		if f, ok := g.(FallbackGuard); ok && f.Function && hedged {
			faults = append(faults, fmt.Errorf("guards[%d].fallback.function: cannot be inside of a hedge, which makes its calls elsewhere than on the caller's goroutine", i))
		}
		_, hedges := g.(HedgeGuard)
		hedged = hedged || hedges
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

// flatten joins errors of which some are joined already.
func flatten(errs ...error) error {
	var faults []error
	for _, err := range errs {
		if err != nil {
			faults = append(faults, unjoin(err)...)
		}
	}
	return errors.Join(faults...)
}

// Name is the policy's name.
func (p *Policy) Name() string { return p.config.Name }

// Config is what the policy was made of. It must not be changed.
func (p *Policy) Config() Config { return p.config }

// Do makes one request: it runs the call through the guards. A panic of the
// call or of a fallback passes on to the caller after every guard has been
// told.
func (p *Policy) Do(ctx context.Context, job Request) Report {
	r := p.pool.Get().(*request)
	r.begin(p, job)
	b := &r.first
	started := b.now
	result := b.next(ctx, p.layers)
	report := b.report
	report.Request = r.id
	report.Attempts = int(r.attempts.Load())
	report.Result = result
	report.End = end(result)
	report.Duration = b.now.Sub(started)
	r.forget()
	p.pool.Put(r)
	return report
}

// State is what can be read of a policy's guards. Where it has several of a
// kind, the outermost is told.
type State struct {
	Inflight int // calls that run now

	HasBreaker bool
	Breaker    breaker.State
	Window     breaker.Counts // of the breaker

	HasBudget bool
	Budget    float64 // balance: see budget.Budget

	HasBulkhead        bool
	Available, Waiting int // permits of the bulkhead, and requests in its queue

	HasThrottle bool
	Throttle    float64 // how likely the next request is refused
}

// State reads the state of the guards. It may be called by an observer.
func (p *Policy) State() State {
	s := State{Inflight: int(p.inflight.Load())}
	now := time.Now()
	for _, l := range p.layers {
		if l, ok := l.(interface {
			describe(s *State, now time.Time)
		}); ok {
			l.describe(&s, now)
		}
	}
	return s
}

// Reset puts the guards back to how they began: breakers closed with empty
// windows, budgets and rate limits full, throttles and caches empty. Calls in
// flight go on, keep their permits, and do not count towards a breaker.
// Observers are not told.
func (p *Policy) Reset() {
	now := time.Now()
	for _, l := range p.layers {
		if l, ok := l.(interface{ reset(now time.Time) }); ok {
			l.reset(now)
		}
	}
}

// ForceBreaker puts all breakers of the policy into a state: Closed, Open
// (until forced again) or Disabled. HalfOpen is left to the breakers. The
// changes are told to o, which may be nil.
func (p *Policy) ForceBreaker(s breaker.State, o Observer) {
	now := time.Now()
	for _, l := range p.layers {
		if l, ok := l.(*breakerLayer); ok {
			l.force(s, now, o, Event{Kind: BreakerChanged, Policy: p.config.Name})
		}
	}
}

// Hedges says whether the policy makes calls on other goroutines than the
// caller's.
func (p *Policy) Hedges() bool {
	for _, g := range p.config.Guards {
		if _, ok := g.(HedgeGuard); ok {
			return true
		}
	}
	return false
}
