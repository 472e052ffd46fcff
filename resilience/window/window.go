// Package window sums what happened in the last so long.
package window

import "time"

// Vector is what one entry adds: up to three counts, whose meaning is the
// user's own. A field may be negative.
type Vector [3]int64

func (v *Vector) add(w Vector) {
	for i := range v {
		v[i] += w[i]
	}
}

func (v *Vector) subtract(w Vector) {
	for i := range v {
		v[i] -= w[i]
	}
}

// Sliding is the sum of the entries of a time that slides along in steps. The
// present step counts besides the whole steps before it, so that an entry is
// remembered for at least the window's length and for less than one step
// longer. It takes the time as an argument, of which one that is earlier than
// the present step counts as that step, and is not safe for several
// goroutines. Make one with [New].
type Sliding struct {
	step  time.Duration
	slots []Vector
	slot  int       // the present one
	end   time.Time // of the present step; zero: nothing has happened yet
	total Vector
}

// New returns an empty window of this length, which must be at least one
// nanosecond a step. A length that does not divide evenly is rounded up to the
// next one that does.
func New(length time.Duration, steps int) Sliding {
	n := time.Duration(steps)
	step := length / n
	if length%n != 0 {
		step++
	}
	return Sliding{step: step, slots: make([]Vector, steps+1)}
}

// Add counts an entry at now.
func (s *Sliding) Add(now time.Time, v Vector) {
	s.advance(now)
	s.slots[s.slot].add(v)
	s.total.add(v)
}

// Total is the sum as of now.
func (s *Sliding) Total(now time.Time) Vector {
	s.advance(now)
	return s.total
}

// Reset forgets everything.
func (s *Sliding) Reset() {
	clear(s.slots)
	s.slot, s.end, s.total = 0, time.Time{}, Vector{}
}

func (s *Sliding) advance(now time.Time) {
	if s.end.IsZero() {
		s.end = now.Add(s.step)
		return
	}
	late := now.Sub(s.end)
	if late < 0 {
		return
	}
	steps := int64(late/s.step) + 1
	if steps >= int64(len(s.slots)) { // nothing of it is remembered
		s.Reset()
		s.end = now.Add(s.step)
		return
	}
	for range steps {
		s.slot = (s.slot + 1) % len(s.slots)
		s.total.subtract(s.slots[s.slot])
		s.slots[s.slot] = Vector{}
	}
	s.end = s.end.Add(time.Duration(steps) * s.step)
}
