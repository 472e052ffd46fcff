package theory_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/retrylab/retrylab/theory"
)

func TestPublishedValues(t *testing.T) {
	for _, c := range []struct {
		p                      float64
		n                      int
		success, amplification float64
	}{
		{.35, 3, .957125, 1.4725},
		{1.0 / 6, 3, .9953703703703703, 1.1944444444444444},
		{0, 3, 1, 1},
		{1, 3, 0, 3},
		{.35, 1, .65, 1},
	} {
		require.InDelta(t, c.success, theory.Success(c.p, c.n), 1e-12, "p=%v n=%d", c.p, c.n)
		require.InDelta(t, c.amplification, theory.Amplification(c.p, c.n), 1e-12, "p=%v n=%d", c.p, c.n)
	}
}

func TestTiers(t *testing.T) {
	require.Equal(t, 27.0, theory.TierAmplification(1, 3, 3))
	require.InDelta(t, 1.875, theory.TierAmplification(.5, 2, 2), 1e-12) // 1+.5+.25+.125
	require.InDelta(t, theory.Amplification(.35, 3), theory.TierAmplification(.35, 3, 1), 1e-12)
}

func TestOutOfRangeIsNaN(t *testing.T) {
	for _, p := range []float64{-.1, 1.1, math.NaN(), math.Inf(1)} {
		require.True(t, math.IsNaN(theory.Success(p, 3)), "p=%v", p)
		require.True(t, math.IsNaN(theory.Amplification(p, 3)), "p=%v", p)
		require.True(t, math.IsNaN(theory.CallsStdDev(p, 3)), "p=%v", p)
	}
	require.True(t, math.IsNaN(theory.Amplification(.5, 0)))
	require.True(t, math.IsNaN(theory.TierAmplification(.5, 2, 0)))
}

func TestCallsStdDev(t *testing.T) {
	// p=.5, n=2: one call or two with equal chance.
	require.InDelta(t, .5, theory.CallsStdDev(.5, 2), 1e-12)
	require.Zero(t, theory.CallsStdDev(1, 3))
	require.Zero(t, theory.CallsStdDev(0, 3))
}

func TestNearCertainFailureKeepsItsDigits(t *testing.T) {
	p := math.Nextafter(1, 0)
	require.InDelta(t, 1e6, theory.Amplification(p, 1e6), 1e-3)
}

func TestSuccessIsAmplificationTimesSuccessOfACall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		n := rapid.IntRange(1, 50).Draw(t, "n")
		got := theory.Amplification(p, n) * (1 - p)
		if math.Abs(got-theory.Success(p, n)) > 1e-12 {
			t.Fatalf("amplification·(1−p) = %v, success = %v", got, theory.Success(p, n))
		}
	})
}

func TestAmplificationBoundsAndOrder(t *testing.T) {
	const slack = 1e-9
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		q := rapid.Float64Range(p, 1).Draw(t, "q")
		n := rapid.IntRange(1, 50).Draw(t, "n")
		a := theory.Amplification(p, n)
		switch {
		case a < 1-slack || a > float64(n)+slack:
			t.Fatalf("%v is not in 1 to %d", a, n)
		case theory.Amplification(q, n) < a-slack:
			t.Fatal("amplification fell with more failures")
		case theory.Amplification(p, n+1) < a-slack:
			t.Fatal("amplification fell with more attempts")
		case theory.Success(q, n) > theory.Success(p, n)+slack:
			t.Fatal("success rose with more failures")
		case theory.Success(p, n+1) < theory.Success(p, n)-slack:
			t.Fatal("success fell with more attempts")
		}
	})
}

func TestTiersMultiplyTheirParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		n := rapid.IntRange(1, 4).Draw(t, "n")
		k := rapid.IntRange(1, 4).Draw(t, "k")
		want, fail := 1.0, p
		for range k {
			want *= theory.Amplification(fail, n)
			fail = 1 - theory.Success(fail, n)
		}
		if got := theory.TierAmplification(p, n, k); math.Abs(got-want) > 1e-9*want {
			t.Fatalf("%v, and tier by tier %v", got, want)
		}
	})
}
