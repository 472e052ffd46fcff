// Package ratelimit is a token bucket that takes the time as an argument.
package ratelimit

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
)

// Config of a limiter: Permits in each Per, which is also the greatest burst.
type Config struct {
	Permits int           // at least 1
	Per     time.Duration // above 0
	MaxWait time.Duration // how long to wait for a permit; 0: refuse at once
}

// MaxPermits bounds Config.Permits.
const MaxPermits = 1_000_000_000

// Validate names everything that is wrong with c, in one joined error.
func (c Config) Validate() error {
	var faults []error
	if c.Permits < 1 || c.Permits > MaxPermits {
		faults = append(faults, fmt.Errorf("permits: %d is not in 1 … %d", c.Permits, MaxPermits))
	}
	if c.Per <= 0 {
		faults = append(faults, fmt.Errorf("per: %v is not above 0", c.Per))
	}
	if c.MaxWait < 0 {
		faults = append(faults, fmt.Errorf("maxWait: %v is negative", c.MaxWait))
	}
	return errors.Join(faults...)
}

// Limiter is a token bucket. It is full at first, refills evenly, and lets
// those who may wait take tokens in advance. It may be used by many goroutines
// at once. A time before the last one is handled as if it were that.
//
// Bound: in any time T at most Permits × (1 + T/Per) tokens are used; each
// [Limiter.Cancel] with others waiting behind may let one more be used there,
// and never more in all.
type Limiter struct {
	cfg  Config
	rate float64 // tokens a nanosecond

	mu     sync.Mutex
	tokens float64 // below 0: taken in advance
	at     time.Time
}

// New returns a full bucket. It fails where c is not valid.
func New(c Config) (*Limiter, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Limiter{cfg: c, rate: float64(c.Permits) / float64(c.Per), tokens: float64(c.Permits)}, nil
}

// whole is what counts as a whole token: refilling by fractions leaves errors
// of rounding, which must not cost a permit.
const whole = 1 - 1e-9

// Acquire takes a token at now, and says how long to wait before using it. It
// refuses where that would be longer than the config's MaxWait.
func (l *Limiter) Acquire(now time.Time) (wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refill(now)
	if l.tokens >= whole {
		l.tokens--
		return 0, true
	}
	ns := math.Round((1 - l.tokens) / l.rate)
	if ns >= math.MaxInt64 || time.Duration(ns) > l.cfg.MaxWait { // the former is no duration
		return 0, false
	}
	l.tokens--
	return time.Duration(ns), true
}

// Cancel gives a token back that was waited for in vain. Those who wait already
// keep their times; the next to come gets it.
func (l *Limiter) Cancel() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens = min(l.tokens+1, float64(l.cfg.Permits))
}

// Reset fills the bucket.
func (l *Limiter) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens = float64(l.cfg.Permits)
}

func (l *Limiter) refill(now time.Time) {
	if !l.at.IsZero() && now.After(l.at) {
		l.tokens = min(l.tokens+float64(now.Sub(l.at))*l.rate, float64(l.cfg.Permits))
	}
	if now.After(l.at) {
		l.at = now
	}
}
