package faults_test

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/retrylab/retrylab/downstream/faults"
)

const ms = time.Millisecond

// with returns a fault with its defaults and the given parameters.
func with[F faults.Fault](t testing.TB, f F, given map[string]any) F {
	t.Helper()
	var p faults.Params
	f.Declare(&p)
	require.NoError(t, p.Set(f.Name(), given))
	return f
}

func delays(f faults.Fault, calls ...uint64) []time.Duration {
	var ds []time.Duration
	for _, n := range calls {
		ds = append(ds, f.Plan(faults.Call{N: n}).Delay)
	}
	return ds
}

func failing(f faults.Fault, seed, calls uint64) []uint64 {
	var ns []uint64
	for n := uint64(1); n <= calls; n++ {
		if f.Plan(faults.Call{N: n, Seed: seed}).Status == http.StatusServiceUnavailable {
			ns = append(ns, n)
		}
	}
	return ns
}

func TestDelaySequences(t *testing.T) {
	tests := []struct {
		name  string
		fault faults.Fault
		given map[string]any
		calls []uint64
		want  []time.Duration
	}{
		{"fixed by default", new(faults.FixedDelay), nil, []uint64{1, 2, 1e9}, []time.Duration{220 * ms, 220 * ms, 220 * ms}},
		{"fixed as given", new(faults.FixedDelay), map[string]any{"delay": "1.5s"}, []uint64{1}, []time.Duration{1500 * ms}},
		{"random by default", new(faults.RandomFailures), nil, []uint64{1, 2, 3, 4}, []time.Duration{120 * ms, 120 * ms, 120 * ms, 120 * ms}},
		{
			"progressive by default", new(faults.ProgressiveDegradation), nil,
			[]uint64{1, 2, 3, 273, 274, 275, math.MaxUint64},
			[]time.Duration{83 * ms, 86 * ms, 89 * ms, 899 * ms, 900 * ms, 900 * ms, 900 * ms},
		},
		{
			"progressive meets max exactly", new(faults.ProgressiveDegradation), map[string]any{"base": 0, "step": 5, "max": 20},
			[]uint64{1, 3, 4, 5}, []time.Duration{5 * ms, 15 * ms, 20 * ms, 20 * ms},
		},
		{
			"progressive without steps", new(faults.ProgressiveDegradation), map[string]any{"step": 0},
			[]uint64{1, math.MaxUint64}, []time.Duration{80 * ms, 80 * ms},
		},
		{
			"progressive heals after calls", new(faults.ProgressiveDegradation), map[string]any{"healAfterCalls": 3},
			[]uint64{1, 3, 4, 5}, []time.Duration{83 * ms, 89 * ms, 80 * ms, 80 * ms},
		},
		{
			"tail spike by default", new(faults.LatencyTailSpike), nil, []uint64{1, 5, 6, 7, 11, 12, 13},
			[]time.Duration{90 * ms, 90 * ms, 650 * ms, 90 * ms, 90 * ms, 650 * ms, 90 * ms},
		},
		{
			"tail spike on every call", new(faults.LatencyTailSpike), map[string]any{"every": "1"},
			[]uint64{1, 2}, []time.Duration{650 * ms, 650 * ms},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := with(t, tt.fault, tt.given)
			assert.Equal(t, tt.want, delays(f, tt.calls...))
		})
	}
}

func TestWhichScenariosFailByDefault(t *testing.T) {
	for _, f := range faults.All() {
		f := with(t, f, nil)
		if f.Name() == "random-failures" || f.Name() == "bursty" {
			assert.NotEmpty(t, failing(f, 1, 1000))
		} else {
			assert.Empty(t, failing(f, 1, 1000), f.Name())
		}
	}
}

// A seed written into a result must mean the same calls in the next version.
func TestFatesOfASeedAreFrozen(t *testing.T) {
	f := with(t, new(faults.RandomFailures), nil)
	assert.Equal(t, []uint64{8, 9, 10, 12, 16, 17, 18, 26, 28, 39, 40}, failing(f, 1, 40))
	assert.Equal(t, []uint64{1, 8, 11, 20, 21, 22, 23, 25, 40}, failing(f, 2, 40))
}

func TestFailureRateIsMet(t *testing.T) {
	const calls = 100_000
	for _, rate := range []float64{0, 0.01, 0.35, 0.9, 1} {
		f := with(t, new(faults.RandomFailures), map[string]any{"failureRate": rate})
		for _, seed := range []uint64{0, 1, math.MaxUint64} {
			got := float64(len(failing(f, seed, calls))) / calls
			// Five standard deviations; exact at both ends.
			assert.InDelta(t, rate, got, 5*math.Sqrt(rate*(1-rate)/calls), "seed %d", seed)
		}
	}
}

func TestSeedsAreIndependent(t *testing.T) {
	const calls = 20_000
	// If two seeds are independent they agree on about half of the calls at a rate of one half, at every
	// shift of one against the other.
	fails := func(seed, n uint64) bool {
		return faults.Call{N: n, Seed: seed}.Uniform(faults.StreamFailure) < 0.5
	}
	const weyl = 0x9e3779b97f4a7c15 // seeds this far apart are shifts of each other in plain SplitMix64
	for _, pair := range [][2]uint64{{1, 2}, {0, 1}, {7, 7 + weyl}, {0, 1 << 63}} {
		for shift := uint64(0); shift < 3; shift++ {
			same := 0
			for n := uint64(1); n <= calls; n++ {
				if fails(pair[0], n+shift) == fails(pair[1], n) {
					same++
				}
			}
			assert.InDelta(t, 0.5, float64(same)/calls, 5*0.5/math.Sqrt(calls), "seeds %v, shift %d", pair, shift)
		}
	}
}

func TestStreamsAreIndependent(t *testing.T) {
	a := faults.Call{N: 3, Seed: 9}
	assert.NotEqual(t, a.Uniform(faults.StreamFailure), a.Uniform(faults.StreamFailure+1))
}

func TestUniformRepeatsAndStaysBelowOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := faults.Call{N: rapid.Uint64().Draw(t, "n"), Seed: rapid.Uint64().Draw(t, "seed")}
		s := faults.Stream(rapid.Uint64().Draw(t, "stream"))
		u := c.Uniform(s)
		if u < 0 || u >= 1 || u != c.Uniform(s) {
			t.Fatalf("%v", u)
		}
	})
}

func TestProgressiveDegradationStaysWithinBaseAndMax(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.Int64Range(0, int64(faults.MaxDelay))
		f := faults.ProgressiveDegradation{
			Base: time.Duration(d.Draw(t, "base")), Step: time.Duration(d.Draw(t, "step")), Max: time.Duration(d.Draw(t, "max")),
		}
		f.Max = max(f.Max, f.Base)
		n := rapid.Uint64().Draw(t, "n")
		got := f.Plan(faults.Call{N: n}).Delay
		if got < f.Base || got > f.Max {
			t.Fatalf("call %d takes %v, outside %v..%v", n, got, f.Base, f.Max)
		}
		if next := f.Plan(faults.Call{N: n + 1}).Delay; n < math.MaxUint64 && next < got {
			t.Fatalf("call %d takes %v and the next %v", n, got, next)
		}
	})
}

func TestParamsReadWhatFlagsJSONAndJSGive(t *testing.T) {
	tests := []struct {
		given any
		want  time.Duration
	}{
		{"220ms", 220 * ms},
		{"1.5s", 1500 * ms},
		{"2m", 2 * time.Minute},
		{"220", 220 * ms},
		{"0.5", 500 * time.Microsecond},
		{220, 220 * ms},
		{int64(220), 220 * ms},
		{uint8(220), 220 * ms},
		{220.25, 220250 * time.Microsecond},
		{float32(0.5), 500 * time.Microsecond},
		{json.Number("220"), 220 * ms},
		{1500 * ms, 1500 * ms},
		{0, 0},
		{"1h", time.Hour},
		{nil, 220 * ms},
	}
	for _, tt := range tests {
		f := with(t, new(faults.FixedDelay), map[string]any{"delay": tt.given})
		assert.Equal(t, tt.want, f.Delay, "%T %v", tt.given, tt.given)
	}
	for _, given := range []any{4, int64(4), 4.0, "4", json.Number("4")} {
		f := with(t, new(faults.LatencyTailSpike), map[string]any{"every": given})
		assert.EqualValues(t, 4, f.Every, "%T", given)
	}
}

func TestParamsNameWhatIsWrong(t *testing.T) {
	const durationWant = `: want text such as "220ms" or "1.5s", or a number of milliseconds`
	tests := []struct {
		name  string
		fault faults.Fault
		given map[string]any
		want  []string
	}{
		{"negative", new(faults.FixedDelay), map[string]any{"delay": "-1ms"}, []string{`x.delay: "-1ms" is outside 0s..1h`}},
		{"too long", new(faults.FixedDelay), map[string]any{"delay": "61m"}, []string{`x.delay: "61m" is outside 0s..1h`}},
		{"beyond any duration", new(faults.FixedDelay), map[string]any{"delay": 1e300}, []string{`x.delay: "1e+300" is outside 0s..1h`}},
		{"no duration", new(faults.FixedDelay), map[string]any{"delay": "soon"}, []string{`x.delay: "soon" is not a duration` + durationWant}},
		{"empty", new(faults.FixedDelay), map[string]any{"delay": ""}, []string{`x.delay: "" is not a duration` + durationWant}},
		{"infinite", new(faults.FixedDelay), map[string]any{"delay": "Inf"}, []string{`x.delay: "Inf" is not a duration` + durationWant}},
		{"not a number at all", new(faults.FixedDelay), map[string]any{"delay": math.NaN()}, []string{`x.delay: "NaN" is not a duration` + durationWant}},
		{"boolean", new(faults.FixedDelay), map[string]any{"delay": true}, []string{`x.delay: "true" is not a duration` + durationWant}},
		{"list", new(faults.FixedDelay), map[string]any{"delay": []any{1, 2}}, []string{`x.delay: "[1 2]" is not a duration` + durationWant}},
		{"rate above one", new(faults.RandomFailures), map[string]any{"failureRate": 1.5}, []string{`x.failureRate: "1.5" is outside 0..1`}},
		{"rate in percent", new(faults.RandomFailures), map[string]any{"failureRate": "35%"}, []string{`x.failureRate: "35%" is not a number`}},
		{"duration for a number", new(faults.RandomFailures), map[string]any{"failureRate": time.Second}, []string{`x.failureRate: "1s" is not a number`}},
		{"fraction", new(faults.LatencyTailSpike), map[string]any{"every": 2.5}, []string{`x.every: "2.5" is not a whole number`}},
		{"zero period", new(faults.LatencyTailSpike), map[string]any{"every": 0}, []string{`x.every: "0" is outside 1..1000000000`}},
		{"beyond any integer", new(faults.LatencyTailSpike), map[string]any{"every": -1e300}, []string{`x.every: "-1e+300" is outside 1..1000000000`}},
		{"max below base", new(faults.ProgressiveDegradation), map[string]any{"base": "1s"}, []string{`x.max: "900ms" is below base "1s"`}},
		{"max below base only by its default", new(faults.ProgressiveDegradation), map[string]any{"base": "1s", "max": "2h"}, []string{`x.max: "2h" is outside 0s..1h`}},
		{"unknown", new(faults.FixedDelay), map[string]any{"dely": 1}, []string{`x.dely: unknown parameter; known are delay`}},
		{"unknown even if nil", new(faults.FixedDelay), map[string]any{"dely": nil}, []string{`x.dely: unknown parameter; known are delay`}},
		{"unknown over lines", new(faults.FixedDelay), map[string]any{"a\nb": 1}, []string{`x."a\nb": unknown parameter; known are delay`}},
		{
			"all at once", new(faults.RandomFailures), map[string]any{"failureRate": -1, "delay": "x", "zeta": 1, "alpha": 2},
			[]string{
				`x.delay: "x" is not a duration` + durationWant,
				`x.failureRate: "-1" is outside 0..1`,
				`x.alpha: unknown parameter; known are delay, failureRate`,
				`x.zeta: unknown parameter; known are delay, failureRate`,
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p faults.Params
			tt.fault.Declare(&p)
			assert.EqualError(t, p.Set("x", tt.given), strings.Join(tt.want, "\n"))
		})
	}
}

func TestLongValuesAreCutInErrors(t *testing.T) {
	var p faults.Params
	new(faults.FixedDelay).Declare(&p)
	err := p.Set("x", map[string]any{"delay": strings.Repeat("ü", 10_000)})
	require.Error(t, err)
	assert.Less(t, len(err.Error()), 300)
}
