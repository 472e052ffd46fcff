// Package throttle is client-side adaptive throttling: a client that gets few
// of its requests accepted refuses some of them itself.
//
// Source: "Handling Overload", Site Reliability Engineering (2016), chapter
// 21: a request is refused with probability
// max(0, (requests − K·accepts) / (requests + 1)).
package throttle

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/retrylab/retrylab/resilience/window"
)

// Config of a throttle.
type Config struct {
	K      float64       // how many requests to send for each accepted one; at least 1
	Window time.Duration // how long a request is remembered; in steps of a sixtieth
}

// steps is how many steps the window is remembered in.
const steps = 60

// Validate names everything that is wrong with c, in one joined error.
func (c Config) Validate() error {
	var faults []error
	if !(c.K >= 1 && c.K <= 1000) {
		faults = append(faults, fmt.Errorf("k: %v is not in 1 … 1000", c.K))
	}
	if c.Window < steps*time.Millisecond {
		faults = append(faults, fmt.Errorf("window: %v is shorter than %v", c.Window, steps*time.Millisecond))
	}
	return errors.Join(faults...)
}

// Throttle counts requests and accepts over a sliding window. It may be used
// by many goroutines at once.
type Throttle struct {
	k float64

	mu     sync.Mutex
	recent window.Sliding // requests, accepts
}

// New returns a throttle that has seen nothing. It fails where c is not valid.
func New(c Config) (*Throttle, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Throttle{k: c.K, recent: window.New(c.Window, steps)}, nil
}

// Admit counts a request that starts at now, and says whether to send it; u is
// a random number in [0, 1). A refused request counts too, so that a client
// which is refused goes on refusing itself until it is accepted again.
func (t *Throttle) Admit(now time.Time, u float64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.probability(now)
	t.recent.Add(now, window.Vector{1, 0})
	return u >= p
}

// Accept counts a request that the callee has accepted.
func (t *Throttle) Accept(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.recent.Add(now, window.Vector{0, 1})
}

// Probability is how likely the next request is refused; always below 1.
func (t *Throttle) Probability(now time.Time) float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.probability(now)
}

// Reset forgets everything.
func (t *Throttle) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.recent.Reset()
}

func (t *Throttle) probability(now time.Time) float64 {
	v := t.recent.Total(now)
	requests, accepts := float64(v[0]), float64(v[1])
	return max(0, (requests-t.k*accepts)/(requests+1))
}
