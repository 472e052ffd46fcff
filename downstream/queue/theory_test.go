package queue_test

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/retrylab/retrylab/downstream/queue"
)

// ending is a call that will be served by then.
type ending struct {
	at      float64 // ms
	ticket  *queue.Ticket
	arrived float64
}

type endings []ending

func (e endings) Len() int           { return len(e) }
func (e endings) Less(i, j int) bool { return e[i].at < e[j].at }
func (e endings) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *endings) Push(x any)        { *e = append(*e, x.(ending)) }
func (e *endings) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// simulate drives a Machine in virtual time with Poisson arrivals (per ms) and exponential service (mean
// in ms). It returns the mean time in system of the calls served, in ms, and the share turned away.
func simulate(cfg queue.Config, seed uint64, rate, service float64, calls int) (meanMs, lost float64) {
	random := rand.New(rand.NewPCG(seed, 0))
	m := queue.New(cfg)
	arrived := make(map[*queue.Ticket]float64)
	var ends endings
	var total float64
	served, full := 0, 0
	instant := func(ms float64) time.Time { return t0.Add(time.Duration(ms * float64(time.Millisecond))) }
	next := func(now float64) {
		for _, x := range taken(m, instant(now)) {
			heap.Push(&ends, ending{now + random.ExpFloat64()*service, x, arrived[x]})
			delete(arrived, x)
		}
	}
	now := 0.0
	for n := 0; n < calls; {
		arrival := now + random.ExpFloat64()/rate
		for len(ends) > 0 && ends[0].at <= arrival {
			e := heap.Pop(&ends).(ending)
			m.Free(e.ticket)
			total += e.at - e.arrived
			served++
			next(e.at)
		}
		now = arrival
		x := new(queue.Ticket)
		arrived[x] = now
		if m.Arrive(instant(now), x) == queue.Full {
			delete(arrived, x)
			full++
		}
		next(now)
		n++
	}
	return total / float64(served), float64(full) / float64(calls)
}

// erlangB is the share lost by c servers without a queue that are offered a Erlang.
func erlangB(c int, a float64) float64 {
	b := 1.0
	for k := 1; k <= c; k++ {
		b = a * b / (float64(k) + a*b)
	}
	return b
}

// M/M/8 at a load of 0.8 with a service time of 20 ms: Erlang C gives a mean time in system of 25.7 ms.
func TestMeanTimeInSystemIsErlangC(t *testing.T) {
	const c, load, service = 8, 0.8, 20.0
	a := c * load
	b := erlangB(c, a)
	waits := b / (1 - load*(1-b))
	want := service + waits*service/(c*(1-load))
	assert.InDelta(t, 25.7, want, 0.05, "the closed form")
	for seed := range uint64(3) {
		for _, d := range []queue.Discipline{queue.FIFO, queue.LIFO} { // the mean is the same for both
			got, lost := simulate(queue.Config{Servers: c, Limit: math.MaxInt32, Discipline: d}, seed, a/service, service, 200_000)
			t.Logf("seed %d, %v: %.2f ms", seed, d, got)
			assert.InEpsilon(t, want, got, 0.05, "seed %d, %v", seed, d)
			assert.Zero(t, lost)
		}
	}
}

// Eight servers without a queue that are offered 8 Erlang lose 0.236 of the calls.
func TestLossIsErlangB(t *testing.T) {
	assert.InDelta(t, 0.236, erlangB(8, 8), 0.0005, "the closed form")
	for seed := range uint64(3) {
		mean, lost := simulate(queue.Config{Servers: 8}, seed, 8.0/20, 20, 200_000)
		t.Logf("seed %d: lost %.4f", seed, lost)
		assert.InEpsilon(t, erlangB(8, 8), lost, 0.02, "seed %d", seed)
		assert.InEpsilon(t, 20, mean, 0.02, "who is let in does not wait")
	}
}

// Under a load of 2 a long FIFO queue makes every call wait for its whole length; CoDel keeps waits short.
func TestCoDelKeepsWaitsShort(t *testing.T) {
	fifo, _ := simulate(queue.Config{Servers: 8, Limit: 1000}, 1, 0.8, 20, 50_000)
	codel, _ := simulate(queue.Config{
		Servers: 8, Limit: 1000, Discipline: queue.CoDel, Target: 5 * ms, Interval: 100 * ms,
	}, 1, 0.8, 20, 50_000)
	assert.Greater(t, fifo, 2000.0)
	assert.Less(t, codel, fifo)
}
