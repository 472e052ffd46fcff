package stats_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/retrylab/retrylab/downstream/stats"
)

func of(request string, patience int) stats.Arrival {
	return stats.Arrival{Request: request, Patience: time.Duration(patience) * time.Millisecond}
}

// started is a call received and started at an instant.
func started(l *stats.Ledger, ms int, a stats.Arrival) *stats.Call {
	c := l.Receive(at(ms), a)
	c.Start(at(ms))
	return c
}

func TestDuplicateWork(t *testing.T) {
	t.Run("a hedge works on after the other has won", func(t *testing.T) {
		l := stats.NewLedger(t0)
		first, hedge := started(l, 0, of("r", 0)), started(l, 100, of("r", 0))
		other := started(l, 0, of("other", 0))
		hedge.End(at(150), stats.Finished)
		assert.Equal(t, 50.0, l.Snapshot(at(200)).DuplicateMs, "while it works")
		first.End(at(400), stats.Finished)
		other.End(at(400), stats.Finished)
		s := l.Snapshot(at(500))
		assert.Equal(t, 250.0, s.DuplicateMs)
		assert.Zero(t, s.ResidualMs)
		assert.Equal(t, 250.0, s.WastedMs)
		assert.Equal(t, 250.0/850, s.WastedShare)
	})
	t.Run("an attempt that begins after the win is all duplicate", func(t *testing.T) {
		l := stats.NewLedger(t0)
		started(l, 0, of("r", 0)).End(at(100), stats.Finished)
		started(l, 200, of("r", 0)).End(at(230), stats.HTTP5xx)
		assert.Equal(t, 30.0, l.Snapshot(at(500)).DuplicateMs)
	})
	t.Run("work after the caller gave up is residual and nothing else", func(t *testing.T) {
		l := stats.NewLedger(t0)
		first := started(l, 0, of("r", 260)) // gives up at 260
		retry := started(l, 300, of("r", 260))
		retry.End(at(350), stats.Finished)
		first.End(at(400), stats.Abandoned)
		s := l.Snapshot(at(500))
		assert.Equal(t, 140.0, s.ResidualMs)
		assert.Zero(t, s.DuplicateMs)
	})
	t.Run("duplicate until it is given up, residual from then on", func(t *testing.T) {
		l := stats.NewLedger(t0)
		first, hedge := started(l, 0, of("r", 300)), started(l, 50, of("r", 0))
		hedge.End(at(200), stats.Finished)
		first.End(at(450), stats.Abandoned)
		s := l.Snapshot(at(500))
		assert.Equal(t, 100.0, s.DuplicateMs)
		assert.Equal(t, 150.0, s.ResidualMs)
		assert.Equal(t, 250.0, s.WastedMs)
	})
	t.Run("what fails, leaves or is late wins nothing", func(t *testing.T) {
		l := stats.NewLedger(t0)
		first := started(l, 0, of("r", 0))
		started(l, 0, of("r", 0)).End(at(10), stats.HTTP5xx)
		started(l, 0, of("r", 0)).End(at(10), stats.Abandoned)
		started(l, 0, of("r", 20)).End(at(30), stats.Finished)
		first.End(at(100), stats.Finished)
		assert.Zero(t, l.Snapshot(at(500)).DuplicateMs)
	})
	t.Run("calls without an id are no attempts of one request", func(t *testing.T) {
		l := stats.NewLedger(t0)
		first := started(l, 0, of("", 0))
		started(l, 0, of("", 0)).End(at(10), stats.Finished)
		first.End(at(100), stats.Finished)
		assert.Zero(t, l.Snapshot(at(500)).DuplicateMs)
	})
}

func TestRequestsAreForgottenInTheEnd(t *testing.T) {
	l := stats.NewLedger(t0)
	win := func(id string) { started(l, 0, of(id, 0)).End(at(1), stats.Finished) }
	again := func(id string) float64 {
		before := l.Snapshot(at(10)).DuplicateMs
		started(l, 2, of(id, 0)).End(at(3), stats.HTTP5xx)
		return l.Snapshot(at(10)).DuplicateMs - before
	}
	win("first")
	for i := range 60_000 {
		win(fmt.Sprint(i))
	}
	assert.Equal(t, 1.0, again("first"), "65,536 later ones are remembered with it")
	memory := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := memory()
	for i := range 300_000 {
		win(fmt.Sprint("x", i))
	}
	assert.Less(t, int64(memory()-before), int64(20<<20), "bytes for 300,000 requests")
	assert.Zero(t, again("first"))
	assert.Equal(t, 1.0, again("x299999"))
}

func TestTimeToNotice(t *testing.T) {
	l := stats.NewLedger(t0)
	gone := func(patience, seen, end int) {
		c := started(l, 0, of("", patience))
		c.Gone(at(seen))
		c.Gone(at(seen + 1))
		c.End(at(end), stats.Abandoned)
	}
	gone(100, 103, 103)
	gone(100, 107, 207)
	gone(100, 97, 97) // the caller's clock began earlier: at once
	gone(100, 50, 50) // given up for another reason: no saying when
	gone(0, 50, 90)   // patience unknown
	started(l, 0, of("", 10)).End(at(100), stats.Finished)
	s := l.Snapshot(at(300))
	assert.EqualValues(t, 3, s.NoticeCount)
	assert.InDelta(t, 10.0/3, s.NoticeMeanMs, 1e-9)
	assert.Equal(t, 7.0, s.NoticeMaxMs)
	assert.EqualValues(t, 5, s.LingerCount)
	assert.Equal(t, 28.0, s.LingerMeanMs)
	assert.Equal(t, 100.0, s.LingerMaxMs)
}

func TestSeries(t *testing.T) {
	l := stats.NewLedger(t0)
	a, b := started(l, 500, of("", 0)), started(l, 900, of("", 0))
	a.End(at(1250), stats.Finished)
	l.Receive(at(1300), of("", 0)).End(at(1300), stats.QueueFull)
	b.End(at(4000), stats.Abandoned)
	s := l.Snapshot(at(4100))
	assert.Equal(t, []stats.Second{
		{T: 0, Received: 2, Inflight: 2, BusyMs: 600},
		{T: 1, Received: 1, Finished: 1, Failed: 1, Inflight: 1, BusyMs: 1250},
		{T: 2, Inflight: 1, BusyMs: 1000},
		{T: 3, Inflight: 1, BusyMs: 1000},
		{T: 4, Abandoned: 1},
	}, s.Series)
	s.Series[0].Received = 99
	assert.EqualValues(t, 2, l.Snapshot(at(4100)).Series[0].Received, "it is a copy")
}

func TestSeriesIsBounded(t *testing.T) {
	l := stats.NewLedger(t0)
	c := started(l, 0, of("", 0))
	for second := range 5000 {
		started(l, second*1000+10, of("", 0)).End(at(second*1000+20), stats.Finished)
	}
	s := l.Snapshot(at(4_999_500)).Series
	require.Len(t, s, stats.SeriesLength)
	assert.Equal(t, stats.Second{T: 4400, Received: 1, Finished: 1, Inflight: 1, BusyMs: 1010}, s[0])
	assert.Equal(t, 4999, s[len(s)-1].T)

	// Days without an event cost nothing and leave a gapless tail.
	const days = 86400 * 1000 * 3
	s = l.Snapshot(at(days)).Series
	require.Len(t, s, stats.SeriesLength)
	assert.Equal(t, stats.Second{T: days / 1000, Inflight: 1}, s[len(s)-1])
	assert.Equal(t, stats.Second{T: days/1000 - 1, Inflight: 1, BusyMs: 1000}, s[len(s)-2])
	c.End(at(days), stats.Finished)
}

// As long as nothing is cut off, the seconds add up to the totals.
func TestSeriesAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := stats.NewLedger(t0)
		now := 0
		var open []*stats.Call
		for range rapid.IntRange(0, 60).Draw(t, "events") {
			now += rapid.IntRange(0, 3000).Draw(t, "ms")
			if len(open) == 0 || rapid.Bool().Draw(t, "receive") {
				open = append(open, started(l, now, of("", 0)))
				continue
			}
			o := rapid.SampledFrom([]stats.Outcome{stats.Finished, stats.Abandoned, stats.Shed}).Draw(t, "outcome")
			open[0].End(at(now), o)
			open = open[1:]
		}
		s := l.Snapshot(at(now + 100))
		var sum stats.Second
		for i, x := range s.Series {
			if x.T != i {
				t.Fatalf("second %d is at %d", x.T, i)
			}
			sum.Received += x.Received
			sum.Finished += x.Finished
			sum.Failed += x.Failed
			sum.Abandoned += x.Abandoned
			sum.BusyMs += x.BusyMs
			if in := sum.Received - sum.Finished - sum.Failed - sum.Abandoned; in != uint64(x.Inflight) {
				t.Fatalf("%d in flight at the end of second %d, want %d", x.Inflight, x.T, in)
			}
		}
		if sum.Received != s.Received || sum.Finished != s.Finished || sum.Failed != s.Failed["shed"] ||
			sum.Abandoned != s.Abandoned || sum.BusyMs-s.BusyMs > 1e-3 || s.BusyMs-sum.BusyMs > 1e-3 {
			t.Fatalf("%+v; seconds add up to %+v", s, sum)
		}
	})
}
