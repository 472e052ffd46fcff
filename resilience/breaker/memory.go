package breaker

import (
	"time"

	"github.com/retrylab/retrylab/resilience/window"
)

// memory is what a closed breaker remembers, in one of the three kinds of
// window. The counts are kept up to date by every record, so that reading is
// free.
type memory struct {
	counts Counts

	ring []mark // of calls: the last results
	next int

	recent window.Sliding // of time: total, failures, slow
	timed  bool

	inARow bool // of consecutive failures: those since the last success
}

// mark is one remembered result.
type mark uint8

const (
	markFailure mark = 1 << iota
	markSlow
)

func newMemory(w Window) memory {
	switch {
	case w.Calls > 0:
		return memory{ring: make([]mark, w.Calls)}
	case w.Time > 0:
		return memory{recent: window.New(w.Time, timeSteps), timed: true}
	}
	return memory{inARow: true}
}

func (m *memory) reset() {
	m.counts, m.next = Counts{}, 0
	if m.timed {
		m.recent.Reset()
	}
}

// saturated says whether it holds nothing but successes, and as many as it ever
// will.
func (m *memory) saturated() bool {
	c := &m.counts
	return !m.timed && c.Total == len(m.ring) && c.Failures == 0 && c.Slow == 0
}

func (m *memory) record(now time.Time, failed, slow bool) {
	if m.inARow && !failed {
		m.counts = Counts{}
		return
	}
	if m.ring != nil {
		m.remember(failed, slow)
	}
	m.counts.Total++
	if failed {
		m.counts.Failures++
		m.counts.Consecutive++
	} else {
		m.counts.Consecutive = 0
	}
	if slow {
		m.counts.Slow++
	}
	if m.timed {
		v := window.Vector{1}
		if failed {
			v[1] = 1
		}
		if slow {
			v[2] = 1
		}
		m.recent.Add(now, v)
		m.slide(now)
	}
}

// slide lets a window of time forget what is too old by now.
func (m *memory) slide(now time.Time) {
	if m.timed {
		v := m.recent.Total(now)
		m.counts.Total, m.counts.Failures, m.counts.Slow = int(v[0]), int(v[1]), int(v[2])
	}
}

// remember puts a result into the ring, in the place of the oldest.
func (m *memory) remember(failed, slow bool) {
	if m.counts.Total == len(m.ring) {
		old := m.ring[m.next]
		m.counts.Total--
		if old&markFailure != 0 {
			m.counts.Failures--
		}
		if old&markSlow != 0 {
			m.counts.Slow--
		}
	}
	var k mark
	if failed {
		k |= markFailure
	}
	if slow {
		k |= markSlow
	}
	m.ring[m.next] = k
	if m.next++; m.next == len(m.ring) {
		m.next = 0
	}
}
