package compare

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchmath"
	"pgregory.net/rapid"
)

func TestMedian(t *testing.T) {
	require.Equal(t, Stat{Value: 2, Low: 1, High: 9, N: 3, Values: []float64{1, 2, 9}}, statOf([]float64{9, 1, 2}))
	require.Equal(t, Stat{Value: 2.5, Low: 1, High: 9, N: 4, Values: []float64{1, 2, 3, 9}}, statOf([]float64{9, 1, 2, 3}))
	require.False(t, statOf(nil).Known())
}

// The samples of benchstat's own documentation, which prints
//
//	json 1.718µ ± 1%  1.423µ ± 1%  -17.20% (p=0.000 n=10)
//	gob  3.066µ ± 0%  3.070µ ± 2%        ~ (p=0.446 n=10)
func TestFiguresOfTheDocumentationOfBenchstat(t *testing.T) {
	for _, c := range []struct {
		name                   string
		old, new               []float64
		before, after, p, part float64
		significant            bool
	}{
		{"json", []float64{1726, 1723, 1707, 1707, 1713, 1729, 1736, 1707, 1705, 1774},
			[]float64{1423, 1416, 1411, 1413, 1412, 1426, 1424, 1422, 1447, 1425}, 1718, 1422.5, 0, -.172, true},
		{"gob", []float64{3069, 3075, 3069, 3067, 3207, 3064, 3064, 3058, 3059, 3062},
			[]float64{3075, 3065, 3059, 3065, 3060, 3081, 3186, 3135, 3087, 3062}, 3065.5, 3070, .446, .00147, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			change := newChange(statOf(c.old), statOf(c.new), DefaultAlpha)
			require.Equal(t, c.before, change.Base.Value)
			require.Equal(t, c.after, change.Head.Value)
			require.InDelta(t, c.p, change.P, .0005)
			require.Equal(t, c.significant, change.Significant)
			require.False(t, change.TooFew)
			part, ok := change.Relative()
			require.True(t, ok)
			require.InDelta(t, c.part, part, .0001)
		})
	}
}

// The same samples through x/perf itself, as benchstat uses it.
func TestStatisticsAgreeWithBenchstat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 10), 1, 30)
		if rapid.Bool().Draw(t, "ties") {
			values = rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 5), func(v int) float64 { return float64(v) }), 1, 30)
		}
		base, head := values.Draw(t, "base"), values.Draw(t, "head")
		thresholds := benchmath.DefaultThresholds
		first := benchmath.NewSample(slices.Clone(base), &thresholds)
		second := benchmath.NewSample(slices.Clone(head), &thresholds)
		want := benchmath.AssumeNothing.Compare(first, second)

		got := newChange(statOf(base), statOf(head), DefaultAlpha)
		if got.P != min(1, want.P) || got.Significant != (want.FormatDelta(1, 2) != "~") {
			t.Fatalf("p %v, benchstat has %v %s", got.P, want.P, want.FormatDelta(1, 2))
		}
		if len(base) == len(head) && got.TooFew != (len(want.Warnings) > 0 && len(base) < 4) {
			t.Fatalf("too few is %v with %d a side", got.TooFew, len(base))
		}
		summary := benchmath.AssumeNothing.Summary(first, Confidence)
		if d := got.Base.Value - summary.Center; d > 1e-9 || d < -1e-9 {
			t.Fatalf("median %v, benchstat has %v", got.Base.Value, summary.Center)
		}
		low, high, ok := got.Base.Interval()
		if ok != (len(summary.Warnings) == 0) || ok && (low != summary.Lo || high != summary.Hi) {
			t.Fatalf("interval %v to %v, %v; benchstat has %v to %v", low, high, ok, summary.Lo, summary.Hi)
		}
	})
}

func TestIntervalTakesSixRepetitions(t *testing.T) {
	_, _, ok := statOf([]float64{1, 2, 3, 4, 5}).Interval()
	require.False(t, ok)
	low, high, ok := statOf([]float64{1, 2, 3, 4, 5, 6}).Interval()
	require.True(t, ok)
	require.Equal(t, []float64{1, 6}, []float64{low, high})
	low, high, _ = statOf([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9}).Interval()
	require.Equal(t, []float64{2, 8}, []float64{low, high}, "narrower than the range")
}

func TestLeastP(t *testing.T) {
	require.Equal(t, 1.0, leastP(1, 1))
	require.InDelta(t, .1, leastP(3, 3), 1e-12)
	require.InDelta(t, 2.0/70, leastP(4, 4), 1e-12)
	require.InDelta(t, 2.0/66, leastP(2, 10), 1e-12)
	require.Equal(t, 4, leastRepetitions(.05))
	require.Equal(t, 5, leastRepetitions(.01))
}

func TestFloors(t *testing.T) {
	change := newChange(statOf([]float64{1, 1, 1, 1}), statOf([]float64{1.02, 1.02, 1.02, 1.02}), DefaultAlpha)
	require.True(t, change.Significant)
	require.Equal(t, Worse, change.verdict(Lower, Floor{}))
	require.Equal(t, Better, change.verdict(Higher, Floor{}))
	require.Equal(t, Changed, change.verdict(Neither, Floor{}))
	require.Equal(t, Alike, change.verdict(Lower, Floor{Value: .03, Relative: true}))
	require.Equal(t, Worse, change.verdict(Lower, Floor{Value: .01, Relative: true}))
	require.Equal(t, Alike, change.verdict(Lower, Floor{Value: .03}))
	for text, want := range map[string]Floor{
		"amplification=2%": {.02, true}, " success_rate = 0.005": {.005, false}, "goodput=0": {},
	} {
		_, floor, err := ParseFloor(text)
		require.NoError(t, err)
		require.Equal(t, want, floor)
	}
	for _, text := range []string{"", "amplification", "nope=2%", "amplification=-1", "amplification=NaN", "amplification=Inf%", "amplification=two"} {
		_, _, err := ParseFloor(text)
		require.ErrorContains(t, err, "floor \""+text+"\"")
	}
}

func TestWhatIsBeyondHasNoDifference(t *testing.T) {
	inf := math.Inf(1)
	_, _, ok := statOf([]float64{1, 2, 3, 4, 5, inf}).Interval()
	require.False(t, ok)
	for _, c := range []Change{
		newChange(statOf([]float64{1, 1}), statOf([]float64{inf, inf}), .05),
		newChange(statOf([]float64{inf, inf, 1}), statOf([]float64{2}), .05),
	} {
		require.Zero(t, c.Delta())
		_, ok := c.Relative()
		require.False(t, ok)
	}
	some := append(slices.Repeat([]float64{1}, 6), slices.Repeat([]float64{inf}, 8)...)
	c := newChange(statOf(some), statOf(slices.Repeat([]float64{inf}, 14)), DefaultAlpha)
	require.True(t, c.Significant)
	require.Equal(t, Alike, c.verdict(Lower, Floor{}), "both medians are beyond")
}
