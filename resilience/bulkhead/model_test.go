package bulkhead_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrylab/retrylab/resilience/bulkhead"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// place is a ticket as the reference knows it.
type place struct {
	ticket  *bulkhead.Ticket
	granted bool // has or had a permit
	given   bool // that permit was given up or given back, or the place was left
}

// ready says whether the ticket has been told of a permit.
func (p *place) ready() bool {
	select {
	case <-p.ticket.Ready():
		return true
	default:
		return false
	}
}

func TestBulkheadBehavesLikeTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		maxConcurrent := rapid.IntRange(1, 4).Draw(t, "maxConcurrent")
		maxQueue := rapid.IntRange(0, 3).Draw(t, "maxQueue") // 0: no bound
		b, err := bulkhead.New(bulkhead.Config{MaxConcurrent: maxConcurrent, MaxWait: time.Second, MaxQueue: maxQueue})
		if err != nil {
			t.Fatal(err)
		}
		held := 0              // permits out
		anonymous := 0         // of those, the ones without a ticket
		var places, q []*place // all there ever were; those that wait, first come first

		release := func() {
			b.Release()
			if len(q) > 0 {
				q[0].granted = true
				q = q[1:]
				return
			}
			held--
		}
		t.Repeat(map[string]func(*rapid.T){
			"acquire": func(t *rapid.T) {
				ok := b.TryAcquire()
				if ok != (held < maxConcurrent) {
					t.Fatalf("acquired is %v with %d of %d out", ok, held, maxConcurrent)
				}
				if ok {
					held++
					anonymous++
				}
			},
			"join": func(t *rapid.T) {
				ticket := b.Join()
				full := held == maxConcurrent && maxQueue > 0 && len(q) == maxQueue
				if (ticket == nil) != full {
					t.Fatalf("refused is %v with %d of %d out and %d waiting", ticket == nil, held, maxConcurrent, len(q))
				}
				if ticket == nil {
					return
				}
				p := &place{ticket: ticket}
				places = append(places, p)
				if held < maxConcurrent {
					held++
					p.granted = true
					return
				}
				q = append(q, p)
			},
			"leave": func(t *rapid.T) {
				var there []*place
				for _, p := range places {
					if !p.given {
						there = append(there, p)
					}
				}
				if len(there) == 0 {
					t.Skip("nobody is there")
				}
				p := rapid.SampledFrom(there).Draw(t, "who")
				if had := b.Leave(p.ticket); had != p.granted {
					t.Fatalf("leave says %v, the ticket's permit is %v", had, p.granted)
				}
				p.given = true
				if p.granted { // the permit is the caller's now
					anonymous++
					return
				}
				for i := range q {
					if q[i] == p {
						q = append(q[:i:i], q[i+1:]...)
						break
					}
				}
			},
			"release": func(t *rapid.T) {
				if anonymous == 0 {
					t.Skip("none is out")
				}
				anonymous--
				release()
			},
			"release after waiting": func(t *rapid.T) {
				for _, p := range places {
					if p.granted && !p.given {
						p.given = true
						release()
						return
					}
				}
				t.Skip("nobody has one")
			},
			"": func(t *rapid.T) {
				if got := b.Available(); got != maxConcurrent-held || got < 0 {
					t.Fatalf("%d of %d are available with %d out", got, maxConcurrent, held)
				}
				if got := b.Waiting(); got != len(q) {
					t.Fatalf("%d wait, not %d", got, len(q))
				}
				for i, p := range places {
					if p.ready() != p.granted {
						t.Fatalf("ticket %d: ready is %v, not %v", i, p.ready(), p.granted)
					}
				}
			},
		})
		for ; held > 0 || len(q) > 0; release() {
		}
		if b.Available() != maxConcurrent {
			t.Fatalf("%d of %d came back", b.Available(), maxConcurrent)
		}
		if !panics(b.Release) {
			t.Fatal("one more could be given back than there are")
		}
	})
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

// Callers that take, wait, give up and panic at once.
func TestPermitsSurviveAnyMixOfEndings(t *testing.T) {
	const maxConcurrent, callers, rounds = 3, 16, 400
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	b, err := bulkhead.New(bulkhead.Config{MaxConcurrent: maxConcurrent, MaxWait: time.Second, MaxQueue: 6})
	require.NoError(t, err)

	var running, calls, gaveUp, refused, atTheLastMoment atomic.Int32
	call := func(panicking bool) {
		defer func() { _ = recover() }()
		defer b.Release()
		if n := running.Add(1); n > maxConcurrent {
			t.Errorf("%d run at once", n)
		}
		calls.Add(1)
		defer running.Add(-1)
		if panicking {
			panic("call")
		}
	}
	var mu sync.Mutex
	var left []*bulkhead.Ticket
	// The last caller's cancels end the waits of the others.
	cancels := make(chan struct{}, callers)
	var wg sync.WaitGroup
	for caller := range callers {
		random := rand.New(rand.NewPCG(seed, uint64(caller)))
		wg.Go(func() {
			for range rounds {
				panicking := random.IntN(4) == 0
				if random.IntN(3) == 0 {
					select {
					case cancels <- struct{}{}:
					default:
					}
				}
				if random.IntN(2) == 0 && b.TryAcquire() {
					call(panicking)
					continue
				}
				ticket := b.Join()
				if ticket == nil {
					refused.Add(1)
					continue
				}
				if random.IntN(4) > 0 {
					select {
					case <-ticket.Ready():
						call(panicking)
						continue
					case <-cancels:
					}
				}
				if b.Leave(ticket) {
					atTheLastMoment.Add(1)
					call(panicking) // its own, to be used or given back
					continue
				}
				gaveUp.Add(1)
				mu.Lock()
				left = append(left, ticket)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	assert.Equal(t, maxConcurrent, b.Available())
	assert.Zero(t, b.Waiting())
	assert.EqualValues(t, callers*rounds, calls.Load()+gaveUp.Load()+refused.Load())
	for _, ticket := range left {
		select {
		case <-ticket.Ready():
			t.Fatal("one who left got a permit")
		default:
		}
	}
	for range maxConcurrent {
		assert.True(t, b.TryAcquire())
	}
	assert.False(t, b.TryAcquire(), "never more than there were")
	t.Logf("%d calls, %d gave up, %d refused, %d left with a permit", calls.Load(), gaveUp.Load(), refused.Load(), atTheLastMoment.Load())
}

func TestOneWhoLeftIsPassedOver(t *testing.T) {
	b, err := bulkhead.New(bulkhead.Config{MaxConcurrent: 1, MaxWait: time.Second})
	require.NoError(t, err)
	require.True(t, b.TryAcquire())
	first, second, third := b.Join(), b.Join(), b.Join()
	assert.False(t, b.Leave(second))
	b.Release()
	assert.True(t, b.Leave(first), "first come, first served")
	b.Release()
	assert.True(t, b.Leave(third), "the next that is still there")
	b.Release()
	assert.Equal(t, 1, b.Available())
	select {
	case <-second.Ready():
		t.Fatal("one who left got a permit")
	default:
	}
}

func TestNobodyOvertakesTheQueue(t *testing.T) {
	b, err := bulkhead.New(bulkhead.Config{MaxConcurrent: 1, MaxWait: time.Second, MaxQueue: 1})
	require.NoError(t, err)
	require.True(t, b.TryAcquire())
	waiting := b.Join()
	require.NotNil(t, waiting)
	assert.Nil(t, b.Join(), "the queue is full")
	b.Release() // to the one who waits
	assert.False(t, b.TryAcquire())
	<-waiting.Ready()
	b.Release()
	assert.True(t, b.TryAcquire())
}

func TestValidateNamesEveryFault(t *testing.T) {
	err := bulkhead.Config{MaxWait: -1, MaxQueue: -1}.Validate()
	for _, fault := range []string{"maxConcurrent: 0 is not at least 1", "maxWait: -1ns is negative", "maxQueue: -1 is negative"} {
		assert.ErrorContains(t, err, fault)
	}
	assert.ErrorContains(t, bulkhead.Config{MaxConcurrent: 1, MaxQueue: 2}.Validate(), "maxQueue: has no meaning without maxWait")
}
