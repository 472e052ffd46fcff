package queue_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/retrylab/retrylab/downstream/queue"
)

const ms = time.Millisecond

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// at is the instant that many milliseconds after t0.
func at(n int) time.Time { return t0.Add(time.Duration(n) * ms) }

// taken is what Next gives until it gives nothing.
func taken(m *queue.Machine, now time.Time) []*queue.Ticket {
	var ts []*queue.Ticket
	for t := m.Next(now); t != nil; t = m.Next(now) {
		ts = append(ts, t)
	}
	return ts
}

// order serves five calls that arrive 1 ms apart with one server and returns the order of service.
func order(t *testing.T, cfg queue.Config) []int {
	cfg.Servers, cfg.Limit = 1, 10
	m := queue.New(cfg)
	var tickets []*queue.Ticket
	var got []int
	var serving *queue.Ticket
	next := func(now int) {
		for _, x := range taken(m, at(now)) {
			for i, y := range tickets {
				if x == y {
					got = append(got, i)
				}
			}
			require.Equal(t, queue.Serving, x.State())
			serving = x
		}
	}
	for i := range 5 {
		tickets = append(tickets, new(queue.Ticket))
		require.Equal(t, queue.Waiting, m.Arrive(at(i), tickets[i]))
		next(i)
	}
	for i := range 5 {
		m.Free(serving)
		next(10 + i)
	}
	assert.Zero(t, m.Busy())
	assert.Zero(t, m.Waiting())
	return got
}

func TestDisciplinesOrder(t *testing.T) {
	assert.Equal(t, []int{0, 1, 2, 3, 4}, order(t, queue.Config{}))
	assert.Equal(t, []int{0, 4, 3, 2, 1}, order(t, queue.Config{Discipline: queue.LIFO}))
	assert.Equal(t, []int{0, 1, 2, 3, 4}, order(t, queue.Config{Discipline: queue.Deadline}))
	assert.Equal(t, []int{0, 1, 2, 3, 4}, order(t, queue.Config{Discipline: queue.CoDel, Target: time.Second, Interval: ms}))
}

func TestLimit(t *testing.T) {
	for _, limit := range []int{0, 1, 3} {
		m := queue.New(queue.Config{Servers: 2, Limit: limit})
		// Nothing is asked for with Next: free servers count, as during a stall.
		for i := range 2 + limit {
			assert.Equal(t, queue.Waiting, m.Arrive(t0, new(queue.Ticket)), "limit %d, call %d", limit, i)
		}
		assert.Equal(t, queue.Full, m.Arrive(t0, new(queue.Ticket)), "limit %d", limit)
		served := taken(m, t0)
		assert.Len(t, served, 2)
		assert.Equal(t, queue.Full, m.Arrive(t0, new(queue.Ticket)), "limit %d", limit)
		m.Free(served[0])
		m.Free(served[0]) // giving back twice gives nothing
		assert.Equal(t, 1, m.Busy())
		assert.Equal(t, queue.Waiting, m.Arrive(t0, new(queue.Ticket)), "limit %d", limit)
	}
}

func TestRejectionsCostTheNextServer(t *testing.T) {
	m := queue.New(queue.Config{Servers: 1, RejectCost: 3 * ms})
	a, b, c := new(queue.Ticket), new(queue.Ticket), new(queue.Ticket)
	m.Arrive(t0, a)
	taken(m, t0)
	assert.Zero(t, a.Cost())
	for range 4 {
		assert.Equal(t, queue.Full, m.Arrive(t0, new(queue.Ticket)))
	}
	m.Free(a)
	m.Arrive(t0, b)
	taken(m, t0)
	assert.Equal(t, 12*ms, b.Cost())
	m.Free(b)
	m.Arrive(t0, c)
	taken(m, t0)
	assert.Zero(t, c.Cost(), "it is paid once")
}

func TestDeadlineShedsWhatCannotBeInTime(t *testing.T) {
	m := queue.New(queue.Config{Servers: 1, Limit: 10, Discipline: queue.Deadline, Service: 20 * ms})
	arrive := func(deadline time.Time) *queue.Ticket {
		x := &queue.Ticket{Deadline: deadline}
		m.Arrive(t0, x)
		return x
	}
	late, just, patient := arrive(at(119)), arrive(at(120)), arrive(time.Time{})
	got := taken(m, at(100))
	assert.Equal(t, []*queue.Ticket{late, just}, got)
	assert.Equal(t, queue.Shed, late.State())
	assert.Equal(t, queue.Serving, just.State())
	m.Free(just)
	assert.Equal(t, []*queue.Ticket{patient}, taken(m, at(9999)))
	assert.Equal(t, queue.Serving, patient.State(), "who announced no patience is never shed")
}

func TestGoneCallsAreDroppedAtTheirTurn(t *testing.T) {
	m := queue.New(queue.Config{Servers: 1, Limit: 10})
	gone := &queue.Ticket{Gone: func() bool { return true }}
	there := &queue.Ticket{Gone: func() bool { return false }}
	m.Arrive(t0, gone)
	m.Arrive(t0, there)
	taken(m, t0)
	assert.Equal(t, queue.Gone, gone.State())
	assert.Equal(t, queue.Serving, there.State(), "a dropped call takes no server")
}

// The times at which RFC 8289 sheds when every call waits too long: after an interval, and then after
// interval/√1, interval/√2, … more.
func TestCoDelShedsMoreAndMoreOften(t *testing.T) {
	m := queue.New(queue.Config{Servers: 1, Limit: 1 << 20, Discipline: queue.CoDel, Target: 5 * ms, Interval: 100 * ms})
	for range 100_000 {
		m.Arrive(at(-1000), new(queue.Ticket))
	}
	var shed []int
	for now := range 1000 {
		for _, x := range taken(m, at(now)) {
			if x.State() == queue.Shed {
				shed = append(shed, now)
			}
			m.Free(x)
			if x.State() != queue.Shed {
				break // one served per ms
			}
		}
	}
	// The first wait beyond target is seen at 0, so the first is shed at 100.
	want := []int{100}
	due := 100.0
	for n := 1; len(want) < 10; n++ {
		due += 100 / math.Sqrt(float64(n))
		want = append(want, int(math.Ceil(due)))
	}
	require.GreaterOrEqual(t, len(shed), 10)
	assert.InDeltaSlice(t, ints(want), ints(shed[:10]), 1)
}

func ints(ns []int) []float64 {
	fs := make([]float64, len(ns))
	for i, n := range ns {
		fs[i] = float64(n)
	}
	return fs
}

func TestCoDelForgivesShortWaits(t *testing.T) {
	m := queue.New(queue.Config{Servers: 1, Limit: 100, Discipline: queue.CoDel, Target: 5 * ms, Interval: 100 * ms})
	for now := range 2000 {
		// Two calls that waited 4 ms; 6 ms once in 50 ms, which is not for an interval.
		wait := 4
		if now%50 == 0 {
			wait = 6
		}
		a, b := new(queue.Ticket), new(queue.Ticket)
		m.Arrive(at(now-wait), a)
		m.Arrive(at(now-wait), b)
		for range 2 {
			x := m.Next(at(now))
			require.Equal(t, queue.Serving, x.State(), "at %d ms", now)
			m.Free(x)
		}
	}
}

// Any order of events keeps servers and places counted, and nobody is lost or served twice.
func TestMachineAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := queue.Config{
			Servers: rapid.IntRange(1, 4).Draw(t, "servers"), Limit: rapid.IntRange(0, 5).Draw(t, "limit"),
			Discipline: queue.Discipline(rapid.IntRange(0, 3).Draw(t, "discipline")),
			Target:     5 * ms, Interval: 10 * ms, Service: 20 * ms,
		}
		m := queue.New(cfg)
		now := 0
		var waiting, serving []*queue.Ticket
		without := func(list []*queue.Ticket, x *queue.Ticket) []*queue.Ticket {
			for i, y := range list {
				if x == y {
					return append(list[:i:i], list[i+1:]...)
				}
			}
			t.Fatalf("a ticket that was not there was taken")
			return nil
		}
		next := func() {
			for x := m.Next(at(now)); x != nil; x = m.Next(at(now)) {
				waiting = without(waiting, x)
				if x.State() == queue.Serving {
					serving = append(serving, x)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"tick": func(t *rapid.T) { now += rapid.IntRange(0, 30).Draw(t, "ms") },
			"arrive": func(t *rapid.T) {
				gone := rapid.Bool().Draw(t, "gone")
				x := &queue.Ticket{Deadline: at(now + rapid.IntRange(0, 60).Draw(t, "patience")), Gone: func() bool { return gone }}
				full := len(serving) == cfg.Servers && len(waiting) >= cfg.Limit
				if got := m.Arrive(at(now), x); (got == queue.Full) != full {
					t.Fatalf("state %d with %d serving and %d waiting", got, len(serving), len(waiting))
				} else if !full {
					waiting = append(waiting, x)
				}
				next()
			},
			"free": func(t *rapid.T) {
				if len(serving) == 0 {
					t.Skip("none")
				}
				x := serving[rapid.IntRange(0, len(serving)-1).Draw(t, "which")]
				serving = without(serving, x)
				m.Free(x)
				next()
			},
			"leave": func(t *rapid.T) {
				if len(waiting) == 0 {
					t.Skip("none")
				}
				x := waiting[rapid.IntRange(0, len(waiting)-1).Draw(t, "which")]
				waiting = without(waiting, x)
				m.Leave(x)
				m.Leave(x)
			},
			"": func(t *rapid.T) {
				if m.Busy() != len(serving) || m.Waiting() != len(waiting) || m.Busy() > cfg.Servers {
					t.Fatalf("busy %d, waiting %d; want %d, %d", m.Busy(), m.Waiting(), len(serving), len(waiting))
				}
				if m.Busy() < cfg.Servers && m.Waiting() > 0 {
					t.Fatalf("%d wait beside a free server", m.Waiting())
				}
			},
		})
	})
}

func TestDisciplineText(t *testing.T) {
	for _, s := range queue.Disciplines() {
		d, err := queue.ParseDiscipline(s)
		require.NoError(t, err)
		assert.Equal(t, s, d.String())
	}
	_, err := queue.ParseDiscipline("FIFO")
	assert.EqualError(t, err, `discipline "FIFO" is none of fifo, lifo, codel, deadline`)
	assert.Equal(t, "Discipline(9)", queue.Discipline(9).String())
}
