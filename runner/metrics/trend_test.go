package metrics

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/DataDog/sketches-go/ddsketch"
	"github.com/DataDog/sketches-go/ddsketch/store"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// distributions are shapes that latencies and other values take.
func distributions() map[string]func(*rand.Rand) float64 {
	return map[string]func(*rand.Rand) float64{
		"uniform":     func(r *rand.Rand) float64 { return r.Float64() * 500 },
		"exponential": func(r *rand.Rand) float64 { return r.ExpFloat64() * 120 },
		"lognormal":   func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()*2 + 3) },
		"pareto":      func(r *rand.Rand) float64 { return math.Pow(1-r.Float64(), -1.2) },
		"two peaks": func(r *rand.Rand) float64 {
			if r.IntN(6) == 0 {
				return 650 + r.Float64()
			}
			return 90 + r.Float64()
		},
		"both signs":    func(r *rand.Rand) float64 { return r.NormFloat64() * 1e3 },
		"many zeros":    func(r *rand.Rand) float64 { return max(0, r.NormFloat64()) },
		"tiny":          func(r *rand.Rand) float64 { return r.Float64() * 1e-200 },
		"one value":     func(*rand.Rand) float64 { return 42.125 },
		"whole numbers": func(r *rand.Rand) float64 { return float64(1 + r.IntN(3)) },
	}
}

// filled is a sink with n values, and the values in order.
func filled(n int, draw func() float64) (*TrendSink, []float64) {
	return fill(&TrendSink{}, n, draw)
}

// sketched is filled, as if more values had come before.
func sketched(n int, draw func() float64) (*TrendSink, []float64) {
	return fill(&TrendSink{sketch: newSketch()}, n, draw)
}

func fill(s *TrendSink, n int, draw func() float64) (*TrendSink, []float64) {
	all := make([]float64, n)
	for i := range all {
		all[i] = draw()
		s.Add(all[i], 0)
	}
	slices.Sort(all)
	return s, all
}

// assertWithinError compares percentiles with the exact ones. Between two
// values the error is bounded by that of both.
func assertWithinError(t assert.TestingT, s *TrendSink, all []float64, what string) {
	for _, p := range []float64{0, 0.1, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 100} {
		pos := p / 100 * float64(len(all)-1)
		a, b := all[int(math.Floor(pos))], all[int(math.Ceil(pos))]
		f := pos - math.Floor(pos)
		bound := RelativeError*(math.Abs(a)*(1-f)+math.Abs(b)*f)*(1+1e-9) + 1e-300
		assert.InDelta(t, a+(b-a)*f, s.Percentile(p), bound, "%s: p(%v)", what, p)
	}
}

func TestPercentilesOfASketchAreWithinItsError(t *testing.T) {
	for name, draw := range distributions() {
		for seed := range uint64(3) {
			r := rand.New(rand.NewPCG(seed, 1))
			s, all := filled(ExactValues+20_000, func() float64 { return draw(r) })
			require.Nil(t, s.Values(), name)
			assertWithinError(t, s, all, name)
			sum := 0.0
			for _, v := range all {
				sum += v
			}
			assert.EqualValues(t, len(all), s.Count())
			assert.Equal(t, all[0], s.Min())
			assert.Equal(t, all[len(all)-1], s.Max())
			assert.InEpsilon(t, sum+1e-300, s.Sum()+1e-300, 1e-9, name)
		}
	}
}

func TestAnySketchedValuesAreWithinTheError(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.SliceOfN(rapid.Float64Range(-1e300, 1e300), 1, 40).Draw(t, "values")
		i := 0
		s, all := sketched(len(some), func() float64 { i++; return some[i%len(some)] })
		assertWithinError(t, s, all, "any")
	})
}

func TestATrendIsExactUpToItsBound(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	s, all := filled(ExactValues, r.ExpFloat64)
	assert.Equal(t, all, s.Values())
	assert.Nil(t, s.Sketch())
	pos := 0.95 * float64(len(all)-1)
	a, b := all[int(pos)], all[int(pos)+1]
	assert.Equal(t, a+(b-a)*(pos-math.Floor(pos)), s.Percentile(95))
	s.Add(1, 0)
	assert.Nil(t, s.Values())
	assert.NotEmpty(t, s.Sketch())
}

func TestMergedSketchesAreTheSketchOfAll(t *testing.T) {
	for name, draw := range distributions() {
		r := rand.New(rand.NewPCG(7, 7))
		whole, merged := &TrendSink{sketch: newSketch()}, newSketch()
		for shard := range 4 {
			part, _ := sketched(5000+1000*shard, func() float64 {
				v := draw(r)
				whole.Add(v, 0)
				return v
			})
			require.NoError(t, merged.DecodeAndMergeWith(part.Sketch()), name)
		}
		all, err := ddsketch.DecodeDDSketch(whole.Sketch(), store.BufferedPaginatedStoreConstructor, nil)
		require.NoError(t, err, name)
		assert.Equal(t, bins(all), bins(merged), name)
	}
}

func bins(s *ddsketch.DDSketch) map[float64]float64 {
	out := make(map[float64]float64)
	s.ForEach(func(value, count float64) bool {
		out[value] += count
		return false
	})
	return out
}

// TestMemoryDoesNotGrowWithTheSamples has ten times the samples take no more
// memory than the values that are kept.
func TestMemoryDoesNotGrowWithTheSamples(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	sinks := make([]TrendSink, 8)
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	add := func(n int) {
		for i := range sinks {
			for range n {
				sinks[i].Add(math.Exp(r.NormFloat64()+4), 0)
			}
		}
	}
	before := heap()
	add(ExactValues)
	kept := heap() - before
	add(9 * ExactValues)
	counted := heap() - before
	t.Logf("%d sinks: %d kB after %d values each, %d kB after ten times as many", len(sinks), kept>>10, ExactValues, counted>>10)
	assert.Less(t, float64(counted), 1.1*float64(kept))
	assert.Less(t, counted/int64(len(sinks)), int64(100<<10), "bytes a sink")
	runtime.KeepAlive(sinks)
}

func TestInfiniteAndTinyValuesDoNotBreakATrend(t *testing.T) {
	extremes := []float64{math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 0, math.Copysign(0, -1)}
	for _, n := range []int{len(extremes), ExactValues + 100} {
		i := 0
		s, _ := filled(n, func() float64 { i++; return extremes[i%len(extremes)] })
		assert.True(t, math.IsInf(s.Max(), 1))
		assert.True(t, math.IsInf(s.Min(), -1))
		assert.Zero(t, s.Percentile(50))
	}
	s := &TrendSink{}
	s.Add(math.Inf(1), 0)
	s.Add(math.Inf(1), 0)
	assert.True(t, math.IsInf(s.Percentile(75), 1), "not the difference of two infinities")
}

type recorder struct{ got []Sample }

func (r *recorder) Add(s []Sample) { r.got = append(r.got, s...) }

func TestOutputsGetWhatTheSinksGet(t *testing.T) {
	r := NewRegistry()
	m, err := r.Register("reqs", Counter, Default)
	require.NoError(t, err)
	e, out := NewEngine(r), &recorder{}
	e.Attach(out)
	b := e.NewBuffer()
	for _, v := range []float64{1, math.NaN(), 2, math.Inf(1)} {
		b.Push(context.Background(), Sample{Metric: m, Tags: r.Root(), Value: v})
	}
	e.View(func() { assert.True(t, math.IsInf(m.Sink().(*CounterSink).Count, 1)) })
	require.Len(t, out.got, 3, "all but what is not a number")
	assert.Equal(t, []float64{1, 2, math.Inf(1)}, []float64{out.got[0].Value, out.got[1].Value, out.got[2].Value})
}

func BenchmarkTrendSink(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	values := make([]float64, 1<<16)
	for i := range values {
		values[i] = math.Exp(r.NormFloat64() + 4)
	}
	s, i := &TrendSink{}, 0
	b.ReportAllocs()
	for b.Loop() {
		s.Add(values[i&(1<<16-1)], 0)
		i++
	}
}
