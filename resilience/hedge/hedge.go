// Package hedge decides when a call has taken long enough for a second one to
// be sent beside it.
//
// Source: Dean and Barroso, "The Tail at Scale" (2013): send the second call
// when the first has been outstanding for more than a high percentile of what
// is expected.
package hedge

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

// Config of a hedge. Exactly one of After and Percentile is set.
type Config struct {
	After      time.Duration // how long to wait for an answer before each further call
	Percentile float64       // in (0, 100): as long as this share of the last calls took
	Max        int           // further calls a call; at least 1
}

// MaxHedges bounds Config.Max.
const MaxHedges = 10

// Validate names everything that is wrong with c, in one joined error.
func (c Config) Validate() error {
	var faults []error
	switch {
	case (c.After != 0) == (c.Percentile != 0):
		faults = append(faults, errors.New("after: give a duration above 0 or {percentile: p}"))
	case c.After < 0:
		faults = append(faults, fmt.Errorf("after: %v is not above 0", c.After))
	case c.Percentile != 0 && !(c.Percentile > 0 && c.Percentile < 100):
		faults = append(faults, fmt.Errorf("after.percentile: %v is not between 0 and 100", c.Percentile))
	}
	if c.Max < 1 || c.Max > MaxHedges {
		faults = append(faults, fmt.Errorf("max: %d is not in 1 … %d", c.Max, MaxHedges))
	}
	return errors.Join(faults...)
}

const (
	remembered = 512 // durations that a percentile is of
	enough     = 32  // how many there must be before it means anything
	refresh    = 16  // durations between two computations
)

// Timer says how long to wait before a hedge. It may be used by many
// goroutines at once.
type Timer struct {
	cfg Config

	mu      sync.Mutex
	ring    []time.Duration
	next    int
	unseen  int // durations since delay was computed
	delay   time.Duration
	scratch []time.Duration
}

// New returns a timer that has seen no call. It fails where c is not valid.
func New(c Config) (*Timer, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Timer{cfg: c}, nil
}

// Delay is how long to wait before the next hedge; ok is false while too few
// calls were seen to know a percentile.
func (t *Timer) Delay() (d time.Duration, ok bool) {
	if t.cfg.After > 0 {
		return t.cfg.After, true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.ring) < enough {
		return 0, false
	}
	if t.delay == 0 || t.unseen >= refresh {
		t.scratch = append(t.scratch[:0], t.ring...)
		slices.Sort(t.scratch)
		t.delay = max(nearestRank(t.scratch, t.cfg.Percentile), 1)
		t.unseen = 0
	}
	return t.delay, true
}

// nearestRank is the percentile p of sorted durations: the smallest one that at
// least p of a hundred are not above.
func nearestRank(sorted []time.Duration, p float64) time.Duration {
	// Multiplied first, and with room for rounding: 55 / 100 × 100 is above 55.
	rank := int(math.Ceil(p*float64(len(sorted))/100 - 1e-9))
	return sorted[max(rank, 1)-1]
}

// Record tells how long a first call took. Of one that lost to a hedge, it is
// how long it had taken by then: to leave those out would let the percentile
// sink, and hedges multiply.
func (t *Timer) Record(d time.Duration) {
	if t.cfg.After > 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unseen++
	if len(t.ring) < remembered {
		t.ring = append(t.ring, d)
		return
	}
	t.ring[t.next] = d
	t.next = (t.next + 1) % remembered
}

// Reset forgets the calls.
func (t *Timer) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ring, t.next, t.unseen, t.delay = t.ring[:0], 0, 0, 0
}
