package resilience

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// DefaultFallbackOn is what a fallback stands in for unless a policy says
// otherwise: all failures and rejections but a 4xx, which is the request's own
// fault, and the caller's cancellation.
func DefaultFallbackOn() Outcomes {
	return SetOf(Timeout, Connect, Reset, HTTP5xx, HTTP429, Thrown, BreakerOpen, BulkheadFull, RateLimited, Throttled)
}

// FallbackGuard gives an answer where the guards and the call inside of it
// gave none. The request is degraded then, never a success. Exactly one of
// Value, Function and CacheTTL is set.
type FallbackGuard struct {
	On       Outcomes      // what it stands in for
	Value    any           // the answer itself
	Function bool          // the answer of the request's own Fallback
	CacheTTL time.Duration // the last good answer to a request of the same key, if it is not older than this
}

// Kind is "fallback".
func (FallbackGuard) Kind() string { return "fallback" }

// Validate names everything that is wrong with g.
func (g FallbackGuard) Validate() error {
	var faults []error
	kinds := 0
	for _, set := range []bool{g.Value != nil, g.Function, g.CacheTTL != 0} {
		if set {
			kinds++
		}
	}
	if kinds != 1 {
		faults = append(faults, errors.New("value: give exactly one of a value, a function, a cache"))
	}
	if g.CacheTTL < 0 {
		faults = append(faults, fmt.Errorf("cache.ttl: %v is not above 0", g.CacheTTL))
	}
	if g.On == 0 || g.On.Has(OK) {
		faults = append(faults, errors.New("on: wants one failure at least, and no success"))
	}
	return errors.Join(faults...)
}

func (g FallbackGuard) layer(*maker) (layer, error) {
	return &fallbackLayer{FallbackGuard: g}, nil
}

type fallbackLayer struct {
	FallbackGuard
	cache cache
}

func (l *fallbackLayer) run(ctx context.Context, b *branch, rest []layer) Result {
	result := b.next(ctx, rest)
	if l.CacheTTL > 0 && result.Outcome == OK && !result.Degraded {
		l.cache.put(b.job.Key, result.Value, b.now, l.CacheTTL)
	}
	if !l.On.Has(result.Outcome) || result.Degraded {
		return result
	}
	value, ok, err := l.answer(ctx, b, result)
	if err != nil {
		result.Err = &FallbackError{Fallback: err, Last: result.Err}
		return result
	}
	if !ok {
		return result
	}
	if b.job.Observer != nil {
		e := b.event(FallbackUsed)
		e.Outcome, e.Err = result.Outcome, result.Err
		b.tell(e)
	}
	result.Value, result.Degraded = value, true
	return result
}

// answer finds what to answer; ok is false where there is nothing.
func (l *fallbackLayer) answer(ctx context.Context, b *branch, last Result) (value any, ok bool, err error) {
	switch {
	case l.CacheTTL > 0:
		value, ok = l.cache.get(b.job.Key, b.now)
		return value, ok, nil
	case !l.Function:
		return l.Value, true, nil
	case b.job.Fallback == nil:
		return nil, false, nil
	}
	value, err = b.job.Fallback(ctx, last)
	b.now = time.Now()
	return value, err == nil, err
}

func (l *fallbackLayer) reset(time.Time) { l.cache.clear() }

// cacheSize bounds how many answers a cache keeps.
const cacheSize = 1024

// cache keeps the last good answer by key. The zero value is empty.
type cache struct {
	mu      sync.Mutex
	entries map[string]cached
}

type cached struct {
	value any
	until time.Time
}

func (c *cache) put(key string, value any, now time.Time, ttl time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = make(map[string]cached)
	}
	if _, known := c.entries[key]; !known && len(c.entries) >= cacheSize {
		c.makeRoom(now)
	}
	c.entries[key] = cached{value: value, until: now.Add(ttl)}
}

// makeRoom drops what is too old, or else any entry.
func (c *cache) makeRoom(now time.Time) {
	for key, e := range c.entries {
		if now.After(e.until) {
			delete(c.entries, key)
		}
	}
	for key := range c.entries {
		if len(c.entries) < cacheSize {
			return
		}
		delete(c.entries, key)
	}
}

func (c *cache) get(key string, now time.Time) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok || now.After(e.until) {
		return nil, false
	}
	return e.value, true
}

func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = nil
}
