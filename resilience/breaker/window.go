package breaker

import "time"

// window is what a closed breaker remembers, in one of the three kinds. The
// counts are kept up to date by every record, so that reading is free.
type window struct {
	counts Counts

	// a window of calls: a ring of the last results
	ring []mark
	next int

	// a window of time: timeSteps slots, of which slot is the present one
	step    time.Duration
	slots   []Counts
	slot    int
	slotEnd time.Time
}

// mark is one remembered result.
type mark uint8

const (
	markFailure mark = 1 << iota
	markSlow
)

func newWindow(w Window) window {
	switch {
	case w.Calls > 0:
		return window{ring: make([]mark, w.Calls)}
	case w.Time > 0:
		return window{step: w.Time / timeSteps, slots: make([]Counts, timeSteps)}
	}
	return window{}
}

func (w *window) reset() {
	w.counts = Counts{}
	w.next = 0
	w.slot, w.slotEnd = 0, time.Time{}
	clear(w.slots)
}

func (w *window) record(now time.Time, failed, slow bool) {
	if w.ring != nil {
		w.forgetOldest()
		var k mark
		if failed {
			k |= markFailure
		}
		if slow {
			k |= markSlow
		}
		w.ring[w.next] = k
		if w.next++; w.next == len(w.ring) {
			w.next = 0
		}
	}
	if w.slots != nil {
		w.advance(now)
		w.slots[w.slot].add(failed, slow)
	}
	w.counts.add(failed, slow)
	if failed {
		w.counts.Consecutive++
	} else {
		w.counts.Consecutive = 0
	}
}

// forgetOldest makes room in a full ring.
func (w *window) forgetOldest() {
	if w.counts.Total < len(w.ring) {
		return
	}
	old := w.ring[w.next]
	w.counts.Total--
	if old&markFailure != 0 {
		w.counts.Failures--
	}
	if old&markSlow != 0 {
		w.counts.Slow--
	}
}

// advance moves a window of time on to now.
func (w *window) advance(now time.Time) {
	if w.slots == nil {
		return
	}
	if w.slotEnd.IsZero() {
		w.slotEnd = now.Add(w.step)
		return
	}
	late := now.Sub(w.slotEnd)
	if late < 0 {
		return
	}
	steps := int64(late/w.step) + 1
	for range min(steps, timeSteps) {
		w.slot = (w.slot + 1) % timeSteps
		old := &w.slots[w.slot]
		w.counts.Total -= old.Total
		w.counts.Failures -= old.Failures
		w.counts.Slow -= old.Slow
		*old = Counts{}
	}
	w.slotEnd = w.slotEnd.Add(time.Duration(steps) * w.step)
}

func (c *Counts) add(failed, slow bool) {
	c.Total++
	if failed {
		c.Failures++
	}
	if slow {
		c.Slow++
	}
}
