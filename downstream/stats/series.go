package stats

import "time"

// SeriesLength is how many seconds back [Snapshot.Series] goes at most.
const SeriesLength = 600

// Second is what happened in one second.
type Second struct {
	// T is the second, counted from 0 at the last reset.
	T int `json:"t"`
	// Received, Finished, Failed and Abandoned count the calls that came or ended in it.
	Received  uint64 `json:"received"`
	Finished  uint64 `json:"finished"`
	Failed    uint64 `json:"failed"`
	Abandoned uint64 `json:"abandoned"`
	// Inflight counts the calls in flight at its end, or now, if it is not over.
	Inflight int `json:"inflight"`
	// BusyMs is the time spent serving within it, summed over calls. Divided by 1000 it is the mean number
	// of calls that were being served.
	BusyMs float64 `json:"busy_ms"`
}

// series cuts the counts into seconds.
type series struct {
	since time.Time
	at    time.Time // until when it is complete
	list  []Second
}

// advance brings the series up to now, between two events, with the calls in flight and being served
// meanwhile. An instant before that of the last event counts as that: clocks are read before the lock is
// taken, and time must not go back.
func (s *series) advance(now time.Time, inflight, serving int) {
	if now.Before(s.at) {
		now = s.at
	}
	second := int(now.Sub(s.since) / time.Second)
	if len(s.list) == 0 {
		s.list = append(s.list, Second{Inflight: inflight})
	}
	if second-s.last().T > SeriesLength {
		// All that is kept lies behind the gap; what is skipped would be cut off again.
		first := second - SeriesLength
		s.list = append(s.list[:0], Second{T: first, Inflight: inflight})
		s.at = s.since.Add(time.Duration(first) * time.Second)
	}
	for {
		last := s.last()
		end := s.since.Add(time.Duration(last.T+1) * time.Second)
		if now.Before(end) {
			last.BusyMs += ms(now.Sub(s.at)) * float64(serving)
			s.at = now
			return
		}
		last.BusyMs += ms(end.Sub(s.at)) * float64(serving)
		s.at = end
		s.list = append(s.list, Second{T: last.T + 1, Inflight: inflight})
		if len(s.list) > 2*SeriesLength { // now and then, not every second
			s.list = append(s.list[:0], s.list[len(s.list)-SeriesLength:]...)
		}
	}
}

// last returns the second that is not over. The pointer is good until the next advance.
func (s *series) last() *Second { return &s.list[len(s.list)-1] }

// show returns a copy of what is kept.
func (s *series) show() []Second {
	return append([]Second(nil), s.list[max(0, len(s.list)-SeriesLength):]...)
}
