package faults

import (
	"net/http"
	"sync"
	"time"
)

// RateLimited answers well after Delay as long as its token bucket has a token for each call, and with
// 429 and Retry-After at once otherwise. Which calls are refused depends on when they come, so it is no
// function of seed and n alone.
type RateLimited struct {
	Rate  float64       // tokens per second; default 100
	Burst int64         // tokens that the bucket holds, full at first; default 20
	Delay time.Duration // service time of an admitted call; default 50 ms

	bucket *bucket
}

// bucket is the state of a token bucket.
type bucket struct {
	mu     sync.Mutex
	tokens float64
	at     time.Duration // age of the scenario when tokens was right
}

// Name implements [Fault].
func (*RateLimited) Name() string { return "rate-limited" }

// Doc implements [Fault].
func (*RateLimited) Doc() string {
	return "a token bucket lets calls in; the others are answered with 429 and Retry-After"
}

// Declare implements [Fault].
func (f *RateLimited) Declare(p *Params) {
	p.Number(&f.Rate, "rate", 100, 0.001, 1_000_000, "calls admitted per second, in the long run")
	p.Integer(&f.Burst, "burst", 20, 1, 1_000_000, "calls admitted at once when the bucket is full, as it is at first")
	p.Duration(&f.Delay, "delay", 50*time.Millisecond, 0, MaxDelay, "service time of an admitted call")
}

// Fresh implements [Stateful].
func (f *RateLimited) Fresh() Fault {
	fresh := *f
	fresh.bucket = &bucket{tokens: float64(f.Burst)}
	return &fresh
}

// Admit implements [Admitter]. A value that is not [Stateful.Fresh] admits every call.
func (f *RateLimited) Admit(c Call) (Plan, bool) {
	b := f.bucket
	if b == nil {
		return Plan{}, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	// Clocks are read before the lock is taken, so an age may lie a little before the last.
	if c.At > b.at {
		b.tokens = min(float64(f.Burst), b.tokens+f.Rate*(c.At-b.at).Seconds())
		b.at = c.At
	}
	if b.tokens >= 1 {
		b.tokens--
		return Plan{}, true
	}
	wait := (1 - b.tokens) / f.Rate * float64(time.Second)
	return Plan{Status: http.StatusTooManyRequests, RetryAfter: max(1, time.Duration(wait))}, false
}

// Plan implements [Fault].
func (f *RateLimited) Plan(Call) Plan { return Plan{Delay: f.Delay} }
