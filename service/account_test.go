package service

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPercentilesAreNearestRank(t *testing.T) {
	var l latencies
	assert.Zero(t, l.percentile(95))
	for i := 100; i >= 1; i-- {
		l.add(float64(i))
	}
	assert.Equal(t, 95.0, l.percentile(95))
	assert.Equal(t, 99.0, l.percentile(99))
	l.add(1000)
	assert.Equal(t, 96.0, l.percentile(95), "⌈0.95 · 101⌉ = 96")
	assert.Equal(t, 1000.0, l.percentile(100))
}

func TestPercentilesOfManyStayWithinTheSketchsError(t *testing.T) {
	var l latencies
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	values := make([]float64, 2*exactLatencies)
	for i := range values {
		values[i] = math.Exp(random.NormFloat64()) * 100
		l.add(values[i])
	}
	assert.Nil(t, l.exact, "memory does not grow with the run")
	slices.Sort(values)
	for _, p := range []float64{50, 95, 99} {
		want := values[int(math.Ceil(p/100*float64(len(values))))-1]
		assert.InEpsilon(t, want, l.percentile(p), 2*sketchError, "p%v", p)
	}
}

func TestObservation(t *testing.T) {
	for inflight, want := range map[int]string{0: "low", 29: "low", 30: "moderate", 79: "moderate", 80: "high"} {
		assert.Equal(t, want, observation(inflight), inflight)
	}
}
