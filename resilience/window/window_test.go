package window_test

import (
	"math"
	"testing"
	"time"

	"github.com/retrylab/retrylab/resilience/window"
	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

var epoch = time.Unix(1_000_000, 0)

type entry struct {
	at time.Time
	v  window.Vector
}

// The window against a list of all that was added: what is not older than its
// length is in the sum, what is one step older is not, and between them an
// entry is in it wholly or not at all, and once gone stays gone.
func TestRemembersItsLengthAndAtMostOneStepMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.IntRange(1, 60).Draw(t, "steps")
		length := time.Duration(rapid.Int64Range(int64(steps), 1_000_000).Draw(t, "length"))
		s := window.New(length, steps)
		step := (length + time.Duration(steps) - 1) / time.Duration(steps)
		longest := step * time.Duration(steps+1)
		var entries []entry
		now, latest := epoch, epoch // the clock, and the latest it ever was
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				// Only the first field is never negative; the bounds are of it.
				v := window.Vector{rapid.Int64Range(0, 1000).Draw(t, "v"), rapid.Int64Range(-1000, 1000).Draw(t, "w"), 1}
				s.Add(now, v)
				entries = append(entries, entry{latest, v})
			},
			"a little time": func(t *rapid.T) { now = now.Add(time.Duration(rapid.Int64Range(0, int64(step)).Draw(t, "ns"))) },
			"some time":     func(t *rapid.T) { now = now.Add(time.Duration(rapid.Int64Range(0, int64(length)*2).Draw(t, "ns"))) },
			"a step":        func(*rapid.T) { now = now.Add(step) },
			"back": func(t *rapid.T) {
				now = now.Add(-time.Duration(rapid.Int64Range(0, int64(length)).Draw(t, "ns")))
			},
			"": func(t *rapid.T) {
				if now.After(latest) {
					latest = now
				}
				got := s.Total(now)
				var least, most int64
				var kept window.Vector // the newest entries, as many as the count says
				for i, e := range entries {
					age := latest.Sub(e.at)
					if age <= length {
						least += e.v[0]
					}
					if age < longest {
						most += e.v[0]
					}
					if int64(len(entries)-i) <= got[2] {
						for f := range kept {
							kept[f] += e.v[f]
						}
					}
				}
				if got[0] < least || got[0] > most {
					t.Fatalf("the sum is %d, not in %d … %d", got[0], least, most)
				}
				if got != kept {
					t.Fatalf("the sum is %v, of the last %d entries %v", got, got[2], kept)
				}
			},
		})
	})
}

func TestEdgesOfTheLength(t *testing.T) {
	s := window.New(10*time.Second, 10)
	s.Add(epoch, window.Vector{1})
	assert.EqualValues(t, 1, s.Total(epoch.Add(11*time.Second - 1))[0], "added at the start of its step: one step more")
	assert.Zero(t, s.Total(epoch.Add(11 * time.Second))[0])

	s.Reset()
	s.Add(epoch, window.Vector{})
	s.Add(epoch.Add(time.Second-1), window.Vector{1})
	assert.EqualValues(t, 1, s.Total(epoch.Add(11*time.Second - 1))[0], "added at its end: just the length")
	assert.Zero(t, s.Total(epoch.Add(11 * time.Second))[0])
}

func TestALengthThatDoesNotDivideEvenlyIsRememberedInFull(t *testing.T) {
	const length = 19 * time.Nanosecond // ten steps of one nanosecond would be 10
	s := window.New(length, 10)
	s.Add(epoch, window.Vector{1})
	assert.EqualValues(t, 1, s.Total(epoch.Add(length))[0])
}

func TestAfterLongIdleItIsEmptyAndGoesOn(t *testing.T) {
	for _, idle := range []time.Duration{11 * time.Second, time.Hour, 100 * 365 * 24 * time.Hour, math.MaxInt64} {
		s := window.New(10*time.Second, 10)
		s.Add(epoch, window.Vector{1, 2, 3})
		now := epoch.Add(idle)
		assert.Zero(t, s.Total(now), idle)
		s.Add(now, window.Vector{1})
		assert.EqualValues(t, 1, s.Total(now.Add(10 * time.Second))[0], idle)
		assert.Zero(t, s.Total(now.Add(11*time.Second)), idle)
	}
}

// From the zero time to today is more than a duration can hold.
func TestAnIdleThatNoDurationHoldsIsForgottenOnce(t *testing.T) {
	s := window.New(time.Second, 10)
	s.Add(time.Time{}, window.Vector{1})
	s.Add(epoch, window.Vector{2})
	s.Add(epoch.Add(time.Millisecond), window.Vector{4})
	assert.EqualValues(t, 6, s.Total(epoch.Add(time.Millisecond))[0])
}

func TestAClockThatGoesBackForgetsNothing(t *testing.T) {
	s := window.New(10*time.Second, 10)
	s.Add(epoch, window.Vector{1})
	s.Add(epoch.Add(5*time.Second), window.Vector{1})
	s.Add(epoch.Add(-time.Hour), window.Vector{1}) // counts as the present step
	assert.EqualValues(t, 3, s.Total(epoch.Add(-time.Hour))[0])
	assert.EqualValues(t, 2, s.Total(epoch.Add(12 * time.Second))[0])
	assert.Zero(t, s.Total(epoch.Add(16*time.Second)))
}
