// Package budget bounds how many retries and hedges may be made, whatever each
// single policy would allow. The four kinds are those of Finagle and Linkerd
// (window), gRPC (tokens), the AWS SDKs (quota) and Envoy (concurrency).
//
// A budget takes the time as an argument and holds no clock. Amounts are
// whole numbers of millionths, so that a ratio such as 0.1 adds up.
package budget

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/retrylab/retrylab/resilience/window"
)

// Kind is how a budget is refilled and spent.
type Kind string

// The kinds.
const (
	// Window lets Ratio retries be made for each request of the last TTL, and
	// MinPerSecond besides. Source: Finagle, RetryBudget; Linkerd, retry budgets.
	//
	// Bound: in any time T there are at most Ratio × (the requests of T and of
	// the 1.1 TTL before it) + MinPerSecond × TTL × max(1, ⌈T/TTL⌉) retries.
	// From the start on, so that no request came before: Ratio × requests +
	// MinPerSecond × (T + TTL) at most; the last TTL is the reserve that a full
	// budget may spend at once.
	Window Kind = "window"
	// Tokens starts with Max tokens, takes one for each failed attempt and
	// gives Ratio for each success; retries are made while it has more than
	// half of Max. Source: gRPC proposal A6, retry throttling.
	//
	// Bound: while everything fails, a full budget allows ⌈Max/2⌉ − 1 retries
	// and then none.
	Tokens Kind = "tokens"
	// Quota takes Cost for each retry (TimeoutCost after a timeout) out of
	// Capacity; a success gives back what its last retry took, or 1. Source: AWS
	// SDKs, retry quota of the standard mode.
	//
	// Bound: while everything fails, a full budget allows ⌊Capacity/Cost⌋
	// retries (⌊Capacity/TimeoutCost⌋ after timeouts) and then none.
	Quota Kind = "quota"
	// Concurrency lets as many retries run at once as Percent of the requests
	// that run, and Min at least. Source: Envoy, retry budget of a cluster's
	// circuit breakers.
	//
	// Bound: a retry is granted only while fewer than max(Min, ⌊Percent/100 ×
	// requests that run⌋) are running. Where a retry takes no shorter than a
	// first attempt and Percent, p, decides and not Min, there are at most
	// 1/(1 − p/100) calls a request, not 1 + p/100: a request that is being
	// retried runs for longer, and counts for as long.
	Concurrency Kind = "concurrency"
)

// Kinds lists the kinds in the order of the constants.
func Kinds() []Kind { return []Kind{Window, Tokens, Quota, Concurrency} }

// Config of a budget. Only the fields of its Kind matter.
type Config struct {
	Kind Kind
	Name string // budgets of the same name are one; "": it is nobody else's

	Ratio float64 // Window: retries a request, 0 to 1000. Tokens: tokens a success, above 0

	MinPerSecond float64       // Window: retries a second that are always allowed
	TTL          time.Duration // Window: how long a request counts, at least 10 ms

	Max float64 // Tokens: the most there can be, and what there is at first

	Capacity, Cost, TimeoutCost float64 // Quota

	Percent float64 // Concurrency: 0 to 100
	Min     int     // Concurrency
}

// Default is a budget of this kind as its source has it.
func Default(k Kind) Config {
	switch k {
	case Window:
		return Config{Kind: k, Ratio: 0.2, MinPerSecond: 10, TTL: 10 * time.Second}
	case Tokens:
		return Config{Kind: k, Max: 10, Ratio: 0.1}
	case Quota:
		return Config{Kind: k, Capacity: 500, Cost: 5, TimeoutCost: 10}
	case Concurrency:
		return Config{Kind: k, Percent: 20, Min: 3}
	}
	return Config{Kind: k}
}

// limit bounds every amount, so that sums of millionths stay whole.
const limit = 1e9

// Validate names everything that is wrong with c, in one joined error.
func (c Config) Validate() error {
	var faults []error
	within := func(name string, v, least, most float64) {
		if !(v >= least && v <= most) {
			faults = append(faults, fmt.Errorf("%s: %s is not in %s … %s", name, plain(v), plain(least), plain(most)))
		}
	}
	switch c.Kind {
	case Window:
		within("ratio", c.Ratio, 0, 1000)
		within("minPerSecond", c.MinPerSecond, 0, 1e6)
		if c.TTL < windowSteps*time.Millisecond || c.TTL > time.Hour {
			faults = append(faults, fmt.Errorf("ttl: %v is not in 10ms … 1h", c.TTL))
		}
	case Tokens:
		within("max", c.Max, 1, limit)
		within("ratio", c.Ratio, 1e-6, 1000)
	case Quota:
		within("capacity", c.Capacity, 1, limit)
		within("cost", c.Cost, 1e-6, limit)
		within("timeoutCost", c.TimeoutCost, 1e-6, limit)
	case Concurrency:
		within("percent", c.Percent, 0, 100)
		within("min", float64(c.Min), 0, 1e6)
	default:
		var names []string
		for _, k := range Kinds() {
			names = append(names, string(k))
		}
		faults = append(faults, fmt.Errorf("kind: %q is none of %s", c.Kind, strings.Join(names, ", ")))
	}
	return errors.Join(faults...)
}

// plain writes a number without an exponent.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// essence is c without the fields that its Kind does not use.
func (c Config) essence() Config {
	e := Config{Kind: c.Kind, Name: c.Name}
	switch c.Kind {
	case Window:
		e.Ratio, e.MinPerSecond, e.TTL = c.Ratio, c.MinPerSecond, c.TTL
	case Tokens:
		e.Max, e.Ratio = c.Max, c.Ratio
	case Quota:
		e.Capacity, e.Cost, e.TimeoutCost = c.Capacity, c.Cost, c.TimeoutCost
	case Concurrency:
		e.Percent, e.Min = c.Percent, c.Min
	}
	return e
}

// Cost is what one retry took out of a budget.
type Cost int64

// Budget is shared by requests, and by the policies that name it. It may be
// used by many goroutines at once. For each request:
//
//	Begin, Fail for each failed attempt, Spend before each retry and Done after
//	it, End.
type Budget interface {
	// Begin counts a request that starts.
	Begin(now time.Time)
	// Fail counts an attempt that failed in a way that is retried.
	Fail()
	// Spend asks for one more attempt; afterTimeout says that the last one
	// timed out.
	Spend(now time.Time, afterTimeout bool) (Cost, bool)
	// Done counts the end of an attempt that was spent for.
	Done(Cost)
	// Refund takes a Spend back, in the place of Done: the attempt is not made
	// after all.
	Refund(now time.Time, c Cost)
	// End counts the end of a request; last is what its last retry took, 0 if
	// it made none.
	End(success bool, last Cost)
	// Balance is what is left: whole retries (Window, Concurrency), tokens, or
	// quota.
	Balance(now time.Time) float64
	// Reset puts it back to how it began. Retries that run go on being counted.
	Reset()
}

// New returns a budget that is full. It fails where c is not valid.
func New(c Config) (Budget, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	switch c.Kind {
	case Window:
		return newWindowBudget(c), nil
	case Tokens:
		return &tokenBudget{purse: newPurse(c.Max), ratio: micro(c.Ratio)}, nil
	case Quota:
		return &quotaBudget{purse: newPurse(c.Capacity), cost: micro(c.Cost), timeoutCost: micro(c.TimeoutCost)}, nil
	}
	return &concurrencyBudget{percent: c.Percent, least: c.Min}, nil
}

// one is a whole token.
const one = 1_000_000

func micro(v float64) int64 { return int64(math.Round(v * one)) }

// purse is a balance between 0 and its maximum.
type purse struct {
	mu       sync.Mutex
	max, has int64
}

func newPurse(max float64) purse { return purse{max: micro(max), has: micro(max)} }

func (p *purse) add(v int64) {
	p.mu.Lock()
	p.has = min(max(p.has+v, 0), p.max)
	p.mu.Unlock()
}

func (p *purse) Balance(time.Time) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return float64(p.has) / one
}

// Reset fills the purse.
func (p *purse) Reset() {
	p.mu.Lock()
	p.has = p.max
	p.mu.Unlock()
}

type tokenBudget struct {
	purse
	ratio int64
}

func (*tokenBudget) Begin(time.Time) {}
func (b *tokenBudget) Fail()         { b.add(-one) }
func (*tokenBudget) Done(Cost)       {}

func (*tokenBudget) Refund(time.Time, Cost) {}

func (b *tokenBudget) Spend(time.Time, bool) (Cost, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return 0, 2*b.has > b.max
}

func (b *tokenBudget) End(success bool, _ Cost) {
	if success {
		b.add(b.ratio)
	}
}

type quotaBudget struct {
	purse
	cost, timeoutCost int64
}

func (*quotaBudget) Begin(time.Time) {}
func (*quotaBudget) Fail()           {}
func (*quotaBudget) Done(Cost)       {}

func (b *quotaBudget) Refund(_ time.Time, c Cost) { b.add(int64(c)) }

func (b *quotaBudget) Spend(_ time.Time, afterTimeout bool) (Cost, bool) {
	cost := b.cost
	if afterTimeout {
		cost = b.timeoutCost
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.has < cost {
		return 0, false
	}
	b.has -= cost
	return Cost(cost), true
}

func (b *quotaBudget) End(success bool, last Cost) {
	switch {
	case success && last > 0:
		b.add(int64(last))
	case success:
		b.add(one)
	}
}

// windowSteps is how many steps a window budget forgets in.
const windowSteps = 10

type windowBudget struct {
	mu      sync.Mutex
	ratio   int64
	reserve int64
	recent  window.Sliding // deposits less withdrawals
}

func newWindowBudget(c Config) *windowBudget {
	return &windowBudget{
		ratio: micro(c.Ratio), reserve: micro(c.MinPerSecond * c.TTL.Seconds()), recent: window.New(c.TTL, windowSteps),
	}
}

func (b *windowBudget) Begin(now time.Time) {
	b.mu.Lock()
	b.recent.Add(now, window.Vector{b.ratio})
	b.mu.Unlock()
}

func (*windowBudget) Fail()          {}
func (*windowBudget) Done(Cost)      {}
func (*windowBudget) End(bool, Cost) {}

func (b *windowBudget) Refund(now time.Time, c Cost) {
	b.mu.Lock()
	b.recent.Add(now, window.Vector{int64(c)})
	b.mu.Unlock()
}

func (b *windowBudget) Spend(now time.Time, _ bool) (Cost, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.recent.Total(now)[0]+b.reserve < one {
		return 0, false
	}
	b.recent.Add(now, window.Vector{-one})
	return one, true
}

func (b *windowBudget) Balance(now time.Time) float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return float64(b.recent.Total(now)[0]+b.reserve) / one
}

func (b *windowBudget) Reset() {
	b.mu.Lock()
	b.recent.Reset()
	b.mu.Unlock()
}

type concurrencyBudget struct {
	percent float64
	least   int

	mu               sync.Mutex
	requests, active int
}

func (b *concurrencyBudget) Begin(time.Time) {
	b.mu.Lock()
	b.requests++
	b.mu.Unlock()
}

func (*concurrencyBudget) Fail() {}

func (b *concurrencyBudget) Spend(time.Time, bool) (Cost, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.active >= b.allowed() {
		return 0, false
	}
	b.active++
	return 0, true
}

// allowed is how many retries may run at once.
func (b *concurrencyBudget) allowed() int {
	return max(b.least, int(b.percent/100*float64(b.requests)+1e-9))
}

func (b *concurrencyBudget) Refund(_ time.Time, c Cost) { b.Done(c) }

func (b *concurrencyBudget) Done(Cost) {
	b.mu.Lock()
	b.active--
	b.mu.Unlock()
}

func (b *concurrencyBudget) End(bool, Cost) {
	b.mu.Lock()
	b.requests--
	b.mu.Unlock()
}

func (b *concurrencyBudget) Balance(time.Time) float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return float64(max(b.allowed()-b.active, 0))
}

func (*concurrencyBudget) Reset() {}
