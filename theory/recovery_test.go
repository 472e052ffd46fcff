package theory_test

import (
	"container/heap"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/theory"
)

// storm is the plan retry-storm: 200 calls a second, a tenth for 3 s.
var storm = theory.Dip{
	Capacity: 200, Room: 1020, Factor: .1, Length: 3 * time.Second,
	Load: 140, Attempts: 1, Timeout: 260 * time.Millisecond,
}

func TestRecovery(t *testing.T) {
	with := func(change func(*theory.Dip)) theory.Dip {
		d := storm
		change(&d)
		return d
	}
	for name, c := range map[string]struct {
		dip               theory.Dip
		backlog, recovery float64
	}{
		"no retry":                 {storm, 360, (360 - 52) / 60.},
		"two attempts at 90":       {with(func(d *theory.Dip) { d.Attempts, d.Load = 2, 90 }), 480, (480 - 52) / 20.},
		"three attempts":           {with(func(d *theory.Dip) { d.Attempts = 3 }), 1020, math.Inf(1)},
		"just the capacity":        {with(func(d *theory.Dip) { d.Attempts, d.Load = 2, 100 }), 540, math.Inf(1)},
		"a queue that is short":    {with(func(d *theory.Dip) { d.Attempts, d.Room = 3, 52 }), 52, 0},
		"one call more":            {with(func(d *theory.Dip) { d.Attempts, d.Room = 3, 53 }), 53, math.Inf(1)},
		"a dip too short to storm": {with(func(d *theory.Dip) { d.Attempts, d.Length = 3, 130*time.Millisecond }), 52, 0},
		"a dip that can be borne":  {with(func(d *theory.Dip) { d.Factor = .8 }), 0, 0},
		"patience":                 {with(func(d *theory.Dip) { d.Attempts, d.Timeout = 3, time.Minute }), 1020, 0},
		"never well":               {with(func(d *theory.Dip) { d.Load = 200 }), 540, math.NaN()},
		"no capacity":              {with(func(d *theory.Dip) { d.Capacity = 0 }), 420, math.NaN()},
	} {
		assert.InDelta(t, c.backlog, c.dip.Backlog(), 1e-9, name)
		if math.IsInf(c.recovery, 1) || math.IsNaN(c.recovery) {
			assert.Equal(t, math.IsNaN(c.recovery), math.IsNaN(c.dip.Recovery()), name)
			assert.Equal(t, math.IsInf(c.recovery, 1), math.IsInf(c.dip.Recovery(), 1), name)
			continue
		}
		assert.InDelta(t, c.recovery, c.dip.Recovery(), 1e-9, name)
	}
}

// The formula against the thing itself: a queue whose callers lose patience.
func TestRecoveryIsThatOfASimulatedServer(t *testing.T) {
	for _, c := range []struct {
		load     float64
		attempts int
		room     int
		factor   float64
		length   time.Duration
	}{
		{140, 1, 1020, .1, 3 * time.Second},
		{100, 1, 1020, .1, 3 * time.Second},
		{60, 2, 1020, .1, 5 * time.Second},
		{60, 3, 1020, .1, 4 * time.Second},
		{140, 1, 300, 0, 10 * time.Second},
		{60, 3, 200, .2, 5 * time.Second},
		{140, 3, 1020, .1, 3 * time.Second},
		{100, 3, 200, .1, 3 * time.Second},
		{140, 3, 40, .1, 3 * time.Second},
		{140, 2, 1020, .1, time.Second},
		{50, 1, 1020, .5, time.Second},
	} {
		d := theory.Dip{
			Capacity: 200, Room: float64(c.room), Factor: c.factor, Length: c.length,
			Load: c.load, Attempts: float64(c.attempts), Timeout: 260 * time.Millisecond,
		}
		got, want := simulate(d), d.Recovery()
		if math.IsInf(want, 1) {
			assert.True(t, math.IsInf(got, 1), "%+v recovered after %v s", c, got)
			continue
		}
		// The further attempts of the requests that are under way when the dip ends
		// are not in the formula: they come within a timeout each.
		assert.InDelta(t, want, got, .1*want+d.Attempts*d.Timeout.Seconds(), "%+v", c)
	}
}

type event struct {
	at      float64
	attempt int // of a call that comes; 0: a server is free
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, k int) bool { return e[i].at < e[k].at }
func (e events) Swap(i, k int)      { e[i], e[k] = e[k], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// simulate returns how long after the dip the last call comes that is not answered
// in time; +Inf where there are still such a minute later. The dip begins at 5 s. Each
// call is the work of 1/Capacity of a server of which there is one.
func simulate(d theory.Dip) float64 {
	const begin, watched = 5.0, 60.0
	end := begin + d.Length.Seconds()
	timeout := d.Timeout.Seconds()
	var due events
	for i := 0; float64(i)/d.Load < end+watched; i++ {
		due = append(due, event{at: float64(i) / d.Load, attempt: 1})
	}
	heap.Init(&due)
	free, late := 0.0, math.Inf(-1) // when the server has done all that it has
	var done []float64
	for due.Len() > 0 {
		e := heap.Pop(&due).(event)
		for len(done) > 0 && done[0] <= e.at {
			done = done[1:]
		}
		at := max(free, e.at)
		if float64(len(done)) < d.Room {
			work := 1 / d.Capacity
			switch { // it is slow while the dip lasts
			case at >= begin && at < end && d.Factor == 0:
				free = end + work
			case at >= begin && at < end:
				free = at + work/d.Factor
				if free > end {
					free = end + work*(1-(end-at)*d.Factor/work)
				}
			default:
				free = at + work
			}
			done = append(done, free)
			if free-e.at <= timeout {
				continue
			}
		}
		late = max(late, e.at)
		if e.attempt < int(d.Attempts) {
			heap.Push(&due, event{at: e.at + timeout, attempt: e.attempt + 1})
		}
	}
	if late > end+watched-1 {
		return math.Inf(1)
	}
	return max(late-end, 0)
}

func TestExpectRecovery(t *testing.T) {
	params := func() map[string]float64 {
		return map[string]float64{"servers": 20, "service_ms": 100, "queue": 1000, "from_ms": 3000, "until_ms": 6000, "recovery_ms": 0, "factor": .1}
	}
	brownout := theory.Scenario{Name: "brownout", Params: params(), Cancellation: "ignore"}
	once := theory.Policy{Guards: []string{"timeout"}, AttemptTimeout: 260 * time.Millisecond}
	retry := theory.Policy{Guards: []string{"retry", "timeout"}, MaxAttempts: 3, AttemptTimeout: 260 * time.Millisecond}

	e, stays := theory.ExpectRecovery(once, brownout, 140)
	seconds, ok := e.Value()
	require.True(t, ok)
	require.InDelta(t, 308/60., seconds, 1e-9)
	require.False(t, stays)

	e, stays = theory.ExpectRecovery(retry, brownout, 140)
	require.True(t, stays)
	require.Equal(t, "420 calls per second come in while all attempts fail, for a capacity of 200", e.Reason())

	budget, patient, hasty := retry, retry, retry
	budget.Budget = true
	patient.AttemptTimeout = 0
	hasty.AttemptTimeout = 100 * time.Millisecond
	with := func(change func(*theory.Scenario)) theory.Scenario {
		s := brownout
		s.Params = params()
		change(&s)
		return s
	}
	for want, c := range map[string]struct {
		p    theory.Policy
		s    theory.Scenario
		load float64
	}{
		"the retry budget decides by its state":                                                {budget, brownout, 140},
		"no attempt succeeds even where the server is well":                                    {hasty, brownout, 140},
		"the load was no open one of a known rate":                                             {retry, brownout, 0},
		"the load of 250 calls per second was never below the capacity of 200":                 {retry, brownout, 250},
		"the server may drop the calls of callers that have left":                              {retry, with(func(s *theory.Scenario) { s.Cancellation = "at-dequeue" }), 140},
		"the server bears the load in the dip, too":                                            {retry, with(func(s *theory.Scenario) { s.Params["factor"] = .8 }), 140},
		"the dip is too short or too shallow for all attempts to fail in it":                   {retry, with(func(s *theory.Scenario) { s.Params["until_ms"] = 3200 }), 140},
		"the dip does not end":                                                                 {retry, with(func(s *theory.Scenario) { s.Params["until_ms"] = 0 }), 140},
		"the speed comes back bit by bit":                                                      {retry, with(func(s *theory.Scenario) { s.Params["recovery_ms"] = 1000 }), 140},
		"the scenario's queue is not known":                                                    {retry, with(func(s *theory.Scenario) { delete(s.Params, "queue") }), 140},
		`no closed form for the recovery from the scenario "outage"`:                           {retry, theory.Scenario{Name: "outage"}, 140},
		"nobody gives up, so that nothing is sent again and what is answered late is answered": {patient, brownout, 140},
	} {
		e, stays := theory.ExpectRecovery(c.p, c.s, c.load)
		_, ok := e.Value()
		assert.False(t, ok || stays, want)
		assert.Equal(t, want, e.Reason())
	}
}

func TestExpectRecoveryAtItsEdges(t *testing.T) {
	at := func(change map[string]float64) theory.Scenario {
		p := map[string]float64{"servers": 20, "service_ms": 100, "queue": 1000, "from_ms": 3000, "until_ms": 6000, "recovery_ms": 0, "factor": .1}
		for k, v := range change {
			p[k] = v
		}
		return theory.Scenario{Name: "brownout", Params: p, Cancellation: "ignore"}
	}
	once := theory.Policy{Guards: []string{"timeout"}, AttemptTimeout: 260 * time.Millisecond}
	retry := theory.Policy{Guards: []string{"retry", "timeout"}, MaxAttempts: 3, AttemptTimeout: 260 * time.Millisecond}
	// Served in 10 ms, and in 100 in the dip: calls are late when 5.2 of them wait, after 20·0.26/120 = 43 ms.
	quick := map[string]float64{"servers": 2, "service_ms": 10}
	quickly := func(until float64) theory.Scenario {
		s := at(quick)
		s.Params["until_ms"] = until
		return s
	}
	for name, c := range map[string]struct {
		p    theory.Policy
		s    theory.Scenario
		load float64
		want float64 // below 0: none
		why  string
	}{
		"a queue that is short":       {retry, at(map[string]float64{"queue": 60}), 60, (80 - 52) / 20., ""},
		"served for too long":         {retry, at(nil), 15, (75 - 52) / 155., ""},
		"long enough to fill a queue": {once, quickly(3310), 140, 0, ""},
		"not long enough":             {once, quickly(3300), 140, -1, "the dip is too short or too shallow for all attempts to fail in it"},
		"just what it bears":          {once, at(map[string]float64{"factor": .5}), 100, -1, "the server bears the load in the dip, too"},
		"no dip":                      {once, at(map[string]float64{"until_ms": 3000}), 140, -1, "the dip does not end"},
	} {
		e, _ := theory.ExpectRecovery(c.p, c.s, c.load)
		got, ok := e.Value()
		assert.Equal(t, c.want >= 0, ok, name)
		assert.Equal(t, c.why, e.Reason(), name)
		if c.want >= 0 {
			assert.InDelta(t, c.want, got, 1e-9, name)
		}
	}
	d := storm
	d.Attempts = 0
	assert.True(t, math.IsNaN(d.Recovery()))
	d = storm
	d.Timeout = 0
	assert.True(t, math.IsNaN(d.Recovery()))
}
