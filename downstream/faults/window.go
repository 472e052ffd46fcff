package faults

import "time"

// window is a span of a scenario's age, from its start on; length 0 is a window without end.
type window struct{ start, length time.Duration }

// left returns how long the window goes on at an age; 0 outside of it.
func (w window) left(at time.Duration) time.Duration {
	switch {
	case at < w.start:
		return 0
	case w.length == 0:
		return Forever
	}
	return max(0, w.start+w.length-at)
}
