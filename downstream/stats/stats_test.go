package stats_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/retrylab/retrylab/downstream/stats"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// at is the instant that many milliseconds after t0.
func at(ms int) time.Time { return t0.Add(time.Duration(ms) * time.Millisecond) }

func patience(ms int) stats.Arrival {
	return stats.Arrival{Patience: time.Duration(ms) * time.Millisecond}
}

func sum(s stats.Snapshot) uint64 {
	n := s.Finished + s.Abandoned + uint64(s.Inflight)
	for _, f := range s.Failed {
		n += f
	}
	return n
}

func TestResidualWork(t *testing.T) {
	const never = -1
	tests := []struct {
		name                   string
		patience               int // ms, from arrival at 0
		start, gone, end       int // ms
		outcome                stats.Outcome
		wantBusy, wantResidual float64
	}{
		{"patient caller", 300, 0, never, 200, stats.Finished, 200, 0},
		{"caller without patience", 0, 0, never, 200, stats.Finished, 200, 0},
		{"patience runs out in service", 150, 0, never, 200, stats.Finished, 200, 50},
		{"patience runs out at the end", 200, 0, never, 200, stats.Finished, 200, 0},
		{"patience runs out before service", 50, 100, never, 200, stats.Finished, 100, 100},
		{"seen gone before patience runs out", 150, 0, 120, 200, stats.Abandoned, 200, 80},
		{"seen gone after patience ran out", 150, 0, 180, 200, stats.Abandoned, 200, 50},
		{"seen gone, patience unknown", 0, 0, 120, 200, stats.Abandoned, 200, 80},
		{"seen gone before service", 0, 100, 20, 200, stats.Abandoned, 100, 100},
		{"dropped when seen gone", 0, 0, 120, 120, stats.Abandoned, 120, 0},
		{"never started", 50, never, 70, 100, stats.Abandoned, 0, 0},
		{"failed after patience ran out", 150, 0, never, 200, stats.HTTP5xx, 200, 50},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := stats.NewLedger(t0)
			c := l.Receive(t0, patience(tt.patience))
			if tt.gone != never && (tt.start == never || tt.gone < tt.start) {
				c.Gone(at(tt.gone))
			}
			if tt.start != never {
				c.Start(at(tt.start))
			}
			if tt.gone != never {
				c.Gone(at(tt.gone))
			}
			running := l.Snapshot(at(tt.end))
			c.End(at(tt.end), tt.outcome)
			ended := l.Snapshot(at(1000))

			assert.Equal(t, tt.wantBusy, ended.BusyMs)
			assert.Equal(t, tt.wantResidual, ended.ResidualMs)
			assert.Equal(t, tt.wantBusy, running.BusyMs, "while in flight")
			assert.Equal(t, tt.wantResidual, running.ResidualMs, "while in flight")
		})
	}
}

func TestOnlyTheFirstEndCounts(t *testing.T) {
	l := stats.NewLedger(t0)
	c := l.Receive(t0, stats.Arrival{})
	c.Start(t0)
	c.Start(at(5))
	c.End(at(10), stats.HTTP5xx)
	c.End(at(20), stats.Finished)
	c.Start(at(30))
	s := l.Snapshot(at(40))
	assert.Equal(t, stats.Snapshot{
		CountedMs: 40, Received: 1, Started: 1, Failed: map[string]uint64{"http_5xx": 1}, MaxInflight: 1, BusyMs: 10,
		Series: []stats.Second{{Received: 1, Failed: 1, BusyMs: 10}},
	}, s)
}

func TestOverdueAtMaximum(t *testing.T) {
	l := stats.NewLedger(t0)
	receive := func(ms int, a stats.Arrival) *stats.Call { return l.Receive(at(ms), a) }

	gone := receive(0, stats.Arrival{})
	receive(0, patience(100)) // due at 100
	receive(0, patience(105)) // due at 105, within the slack at 100
	receive(0, patience(106)) // due at 106, not
	receive(0, stats.Arrival{})
	gone.Gone(at(50))
	assert.Equal(t, 0, l.Snapshot(at(60)).MaxInflightOverdue, "the maximum was reached when all callers waited")

	impatient := receive(100, patience(1)) // the newcomer is never overdue itself
	s := l.Snapshot(at(100))
	assert.Equal(t, 6, s.MaxInflight)
	assert.Equal(t, 3, s.MaxInflightOverdue)

	// Reaching the maximum again, later, is not a new maximum.
	impatient.End(at(200), stats.Finished)
	receive(300, stats.Arrival{})
	s = l.Snapshot(at(300))
	assert.Equal(t, 6, s.MaxInflight)
	assert.Equal(t, 3, s.MaxInflightOverdue)

	receive(300, stats.Arrival{})
	assert.Equal(t, 4, l.Snapshot(at(300)).MaxInflightOverdue)
}

func TestOutcomeOf(t *testing.T) {
	for status, want := range map[int]stats.Outcome{
		200: stats.Finished, 302: stats.Finished, 400: stats.HTTP4xx, 429: stats.HTTP429, 499: stats.HTTP4xx,
		500: stats.HTTP5xx, 503: stats.HTTP5xx,
	} {
		assert.Equal(t, want, stats.OutcomeOf(status), "%d", status)
	}
}

func TestSnapshotJSON(t *testing.T) {
	l := stats.NewLedger(t0)
	l.Dial()
	l.Receive(t0, stats.Arrival{Retry: true}).Start(t0)
	b, err := json.Marshal(l.Snapshot(at(250)))
	require.NoError(t, err)
	assert.JSONEq(t, `{"scenario":"","seed":0,"uptime_ms":0,"counted_ms":250,"received":1,"retries":1,"started":1,
		"finished":0,"failed":{},"abandoned":0,"inflight":1,"max_inflight":1,"max_inflight_overdue":0,
		"busy_ms":250,"residual_ms":0,"duplicate_ms":0,"wasted_ms":0,"wasted_share":0,
		"notice_count":0,"notice_mean_ms":0,"notice_max_ms":0,"linger_count":0,"linger_mean_ms":0,"linger_max_ms":0,"dials":1,
		"series":[{"t":0,"received":1,"finished":0,"failed":0,"abandoned":0,"inflight":1,"busy_ms":250}]}`, string(b))
}

// Any order of events keeps the books balanced and equal to a naive count.
func TestLedgerAgainstModel(t *testing.T) {
	type open struct {
		call    *stats.Call
		started bool
	}
	outcomes := []stats.Outcome{stats.Finished, stats.Abandoned, stats.HTTP5xx, stats.HTTP429}
	rapid.Check(t, func(t *rapid.T) {
		now := 0
		l := stats.NewLedger(t0)
		var calls []*open
		var received, started uint64
		ended := map[stats.Outcome]uint64{}
		most := 0
		pick := func(t *rapid.T) int {
			if len(calls) == 0 {
				t.Skip("nothing in flight")
			}
			return rapid.IntRange(0, len(calls)-1).Draw(t, "which")
		}
		t.Repeat(map[string]func(*rapid.T){
			"tick": func(t *rapid.T) { now += rapid.IntRange(0, 50).Draw(t, "ms") },
			"receive": func(t *rapid.T) {
				a := patience(rapid.IntRange(-1, 100).Draw(t, "patience"))
				a.Request = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "request")
				c := l.Receive(at(now), a)
				received++
				if c.N() != received {
					t.Fatalf("call %d has number %d", received, c.N())
				}
				calls = append(calls, &open{call: c})
				most = max(most, len(calls))
			},
			"start": func(t *rapid.T) {
				c := calls[pick(t)]
				c.call.Start(at(now))
				if !c.started {
					c.started = true
					started++
				}
			},
			"gone": func(t *rapid.T) { calls[pick(t)].call.Gone(at(now)) },
			"end": func(t *rapid.T) {
				i := pick(t)
				o := rapid.SampledFrom(outcomes).Draw(t, "outcome")
				calls[i].call.End(at(now), o)
				calls = append(calls[:i:i], calls[i+1:]...)
				ended[o]++
			},
			"": func(t *rapid.T) {
				s := l.Snapshot(at(now))
				switch {
				case s.Received != received, s.Started != started, s.Inflight != len(calls), s.MaxInflight != most,
					s.Finished != ended[stats.Finished], s.Abandoned != ended[stats.Abandoned],
					s.Failed["http_5xx"] != ended[stats.HTTP5xx], s.Failed["http_429"] != ended[stats.HTTP429]:
					t.Fatalf("%+v; want received %d, started %d, in flight %d of %d, ended %v",
						s, received, started, len(calls), most, ended)
				case sum(s) != s.Received:
					t.Fatalf("received %d is not the sum %d: %+v", s.Received, sum(s), s)
				case s.ResidualMs < 0 || s.DuplicateMs < 0 || s.ResidualMs+s.DuplicateMs > s.BusyMs+1e-6:
					t.Fatalf("residual %v and duplicate %v of busy %v", s.ResidualMs, s.DuplicateMs, s.BusyMs)
				case s.LingerCount < s.Abandoned || s.NoticeCount > s.Received:
					t.Fatalf("%d lingered of %d abandoned, %d noticed", s.LingerCount, s.Abandoned, s.NoticeCount)
				case s.MaxInflightOverdue > max(0, s.MaxInflight-1):
					t.Fatalf("%d of %d overdue", s.MaxInflightOverdue, s.MaxInflight)
				}
			},
		})
	})
}

func TestConcurrentCallsBalanceInEverySnapshot(t *testing.T) {
	l := stats.NewLedger(t0)
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for i := range 500 {
				c := l.Receive(at(i), patience(1))
				c.Start(at(i))
				c.Gone(at(i + 2))
				c.End(at(i+3), []stats.Outcome{stats.Finished, stats.Abandoned, stats.HTTP5xx}[i%3])
			}
		})
	}
	done := make(chan struct{})
	go func() {
		callers.Wait()
		close(done)
	}()
	for open := true; open; {
		select {
		case <-done:
			open = false
		default:
		}
		s := l.Snapshot(at(1000))
		require.Equal(t, s.Received, sum(s))
		require.LessOrEqual(t, s.Inflight, 8)
	}
	s := l.Snapshot(at(1000))
	assert.EqualValues(t, 4000, s.Received)
	assert.Zero(t, s.Inflight)
	assert.EqualValues(t, 4000*3, s.BusyMs)
	assert.EqualValues(t, 4000*2, s.ResidualMs)
}

func BenchmarkCall(b *testing.B) {
	l := stats.NewLedger(t0)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c := l.Receive(t0, stats.Arrival{Patience: time.Second})
			c.Start(t0)
			c.End(t0, stats.Finished)
		}
	})
}
