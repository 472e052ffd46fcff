package summary

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/DataDog/sketches-go/ddsketch"
	"github.com/DataDog/sketches-go/ddsketch/store"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/runner/metrics"
	"github.com/retrylab/retrylab/runner/thresholds"
)

// UnmarshalJSON is the reader's side of Float.
func (f *Float) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	*f = Float(v)
	return err
}

// shard is one shard's file, read back: a trend and a counter of these values,
// the even ones in a submetric too.
func shard(t *testing.T, values []float64) *Sketches {
	t.Helper()
	r := metrics.NewRegistry()
	took, err := r.Register("took", metrics.Trend, metrics.Time)
	require.NoError(t, err)
	sum, err := r.Register("sum", metrics.Counter, metrics.Data)
	require.NoError(t, err)
	good, err := r.Register("good", metrics.Rate, metrics.Default)
	require.NoError(t, err)
	level, err := r.Register("level", metrics.Gauge, metrics.Default)
	require.NoError(t, err)
	_, err = r.Register("checks", metrics.Rate, metrics.Default)
	require.NoError(t, err)
	set, err := thresholds.New(r, map[string][]thresholds.Spec{
		"took{kind:even}": {{Source: "p(95)<1"}, {Source: "avg>0"}}, "checks": {{Source: "rate>0.5"}},
	})
	require.NoError(t, err)
	e := metrics.NewEngine(r)
	e.CountChecks(r.Get("checks"))
	buf := e.NewBuffer()
	even, odd := r.Root().With("kind", "even"), r.Root().With("kind", "odd")
	for i, v := range values {
		tags := even
		if i%2 == 1 {
			tags = odd
		}
		buf.Push(context.Background(), metrics.Sample{Metric: took, Tags: tags, Value: v, Time: int64(i)},
			metrics.Sample{Metric: sum, Tags: tags, Value: v}, metrics.Sample{Metric: good, Tags: tags, Value: float64(i % 2)},
			metrics.Sample{Metric: level, Tags: tags, Value: v, Time: int64(i)},
			metrics.Sample{Metric: r.Get("checks"), Tags: r.Root().With("group", "::g").With("check", "c"), Value: 1})
	}
	var s *Sketches
	e.View(func() { s = NewSketches(r, e, set, time.Unix(5, 6), 1500*time.Millisecond) })
	b, err := s.Encode()
	require.NoError(t, err)
	back := &Sketches{}
	require.NoError(t, json.Unmarshal(b, back))
	return back
}

func (s *Sketches) get(name string) SketchMetric {
	for _, m := range s.Metrics {
		if m.Name == name {
			return m
		}
	}
	return SketchMetric{}
}

func TestSketchesTellWhatMergingNeeds(t *testing.T) {
	s := shard(t, []float64{3, 1, math.Inf(1), -2})
	assert.Equal(t, SketchesFormat, s.Format)
	assert.Equal(t, 1, s.Version)
	assert.Equal(t, time.Unix(5, 6).UTC(), s.Start)
	assert.Equal(t, 1500.0, s.DurationMS)
	assert.Equal(t, 0.001, s.RelativeError)
	took := s.get("took")
	assert.Equal(t, []Float{-2, 1, 3, Float(math.Inf(1))}, took.Trend.Values)
	assert.EqualValues(t, 4, took.Trend.Count)
	assert.EqualValues(t, -2, took.Trend.Min)
	assert.Empty(t, took.Trend.Sketch)
	sub := s.get("took{kind:even}")
	assert.Equal(t, SketchMetric{
		Name: "took{kind:even}", Type: "trend", Contains: "time", Parent: "took", Tags: map[string]string{"kind": "even"},
		Thresholds: []string{"p(95)<1", "avg>0"},
		Trend:      &SketchTrend{Count: 2, Sum: Float(math.Inf(1)), Min: 3, Max: Float(math.Inf(1)), Values: []Float{3, Float(math.Inf(1))}},
	}, sub)
	assert.Equal(t, SketchRate{Passes: 2, Total: 4}, *s.get("good").Rate)
	assert.Equal(t, SketchGauge{Value: -2, Min: -2, Max: Float(math.Inf(1)), Time: time.Unix(0, 3).UTC()}, *s.get("level").Gauge)
	assert.Equal(t, []SketchCheck{{Group: "::g", Name: "c", Passes: 4}}, s.Checks)
}

func TestSketchesWithoutSamples(t *testing.T) {
	s := shard(t, nil)
	assert.Equal(t, &SketchTrend{}, s.get("took{kind:even}").Trend, "a threshold keeps it")
	assert.Empty(t, s.get("level").Name)
	assert.Empty(t, s.Checks)
}

// TestMergedShardsAreTheWhole merges four files as the format says: sums and
// counts are exact, percentiles within the error that the files state.
func TestMergedShardsAreTheWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	var all []float64
	var merged *ddsketch.DDSketch
	var count uint64
	var kept []float64
	sum, passes := 0.0, int64(0)
	for i := range 4 {
		values := make([]float64, 1000+20_000*i) // the first two shards keep theirs
		for k := range values {
			values[k] = math.Exp(r.NormFloat64()*1.5 + 4)
		}
		all = append(all, values...)
		s := shard(t, values)
		trend := s.get("took").Trend
		count += trend.Count
		sum += float64(s.get("sum").Counter.Sum)
		passes += s.get("good").Rate.Passes
		if trend.Sketch == nil {
			for _, v := range trend.Values {
				kept = append(kept, float64(v))
			}
			continue
		}
		if merged == nil {
			var err error
			merged, err = ddsketch.DecodeDDSketch(trend.Sketch, store.DenseStoreConstructor, nil)
			require.NoError(t, err)
			continue
		}
		require.NoError(t, merged.DecodeAndMergeWith(trend.Sketch))
	}
	for _, v := range kept {
		require.NoError(t, merged.Add(v))
	}
	slices.Sort(all)
	total := 0.0
	for _, v := range all {
		total += v
	}
	assert.EqualValues(t, len(all), count)
	assert.InEpsilon(t, total, sum, 1e-12)
	assert.EqualValues(t, len(all)/2, passes)
	assert.EqualValues(t, len(all), merged.GetCount())
	for _, q := range []float64{0.01, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999} {
		got, err := merged.GetValueAtQuantile(q)
		require.NoError(t, err)
		want := all[int(q*float64(len(all)-1))]
		assert.InEpsilon(t, want, got, metrics.RelativeError*1.000001, "quantile %v", q)
	}
}

// FuzzSummariesAreReadBack writes a run of any values, names and tags in every
// shape, and reads back what was written.
func FuzzSummariesAreReadBack(f *testing.F) {
	f.Add([]byte{}, "check", "group", "tag")
	f.Add(binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.Inf(-1))), "\"", "::a::b", "</script>")
	f.Add(binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.NaN())), "\xff\x00", "a", "\u2028")
	f.Add(slices.Concat(binary.LittleEndian.AppendUint64(nil, math.Float64bits(1e308)),
		binary.LittleEndian.AppendUint64(nil, math.Float64bits(1e308)), binary.LittleEndian.AppendUint64(nil, 1)), "", "", "")
	f.Fuzz(func(t *testing.T, data []byte, check, group, tag string) {
		r := metrics.NewRegistry()
		b, err := metrics.NewBuiltin(r)
		require.NoError(t, err)
		mine, err := r.Register("mine", metrics.Trend, metrics.Default)
		require.NoError(t, err)
		key := "mine{k:" + tag + "}"
		specs := map[string][]thresholds.Spec{"http_reqs": {{Source: "count>1"}}}
		if _, err := r.Find(key); err == nil {
			specs[key] = []thresholds.Spec{{Source: "p(99)<1"}}
		}
		set, err := thresholds.New(r, specs)
		require.NoError(t, err)
		e, parts := metrics.NewEngine(r), &Collector{}
		e.CountChecks(b.Checks)
		e.Attach(parts)
		buf := e.NewBuffer()
		tags := r.Root().With("k", tag).With("group", group).With("check", check).With("scenario", tag)
		n := 0
		for ; len(data) >= 8; data = data[8:] {
			v := math.Float64frombits(binary.LittleEndian.Uint64(data))
			if !math.IsNaN(v) {
				n++
			}
			for _, m := range []*metrics.Metric{mine, b.HTTPReqs, b.VUs, b.Checks, b.DataSent, b.HTTPReqDuration} {
				buf.Push(context.Background(), metrics.Sample{Metric: m, Tags: tags, Value: v})
			}
		}
		var d *Data
		var s *Sketches
		e.View(func() {
			set.Evaluate(time.Second, true)
			d = Collect(r, e, set, append(DefaultTrendStats(), "count"), time.Second)
			d.Mode, d.Parts, d.Script = Full, parts.Part(DefaultTrendStats(), time.Second), check
			s = NewSketches(r, e, set, time.Unix(1, 0), time.Second)
		})

		var full struct {
			Metrics map[string]struct{ Values map[string]*float64 }
		}
		readBack(t, d.HandleSummary, &full)
		var flat struct{ Metrics map[string]map[string]any }
		readBack(t, d.Export, &flat)
		var machine struct {
			Results struct {
				Metrics []struct {
					Name   string
					Values map[string]*float64
				}
			}
		}
		readBack(t, d.MachineReadable, &machine)
		var file Sketches
		readBack(t, s.Encode, &file)
		for _, m := range d.Metrics {
			name := string([]rune(m.Name)) // a byte that is no UTF-8 becomes U+FFFD
			got, ok := full.Metrics[name]
			require.True(t, ok, name)
			for _, v := range m.Values {
				if math.IsNaN(v.Number) || math.IsInf(v.Number, 0) {
					assert.Nil(t, got.Values[v.Name], "%s %s", m.Name, v.Name)
					continue
				}
				require.NotNil(t, got.Values[v.Name])
				assert.Equal(t, v.Number, *got.Values[v.Name], "%s %s", m.Name, v.Name)
			}
			assert.Contains(t, flat.Metrics, name)
		}
		for _, m := range machine.Results.Metrics {
			if avg, ok := m.Values["avg"]; ok && avg != nil {
				assert.Equal(t, *full.Metrics[m.Name].Values["avg"], *avg)
			}
		}
		if n > 0 {
			assert.Len(t, file.get("mine").Trend.Values, n)
			assert.Equal(t, s.get("mine").Trend.Values, file.get("mine").Trend.Values)
		}
		require.NoError(t, d.Text(&strings.Builder{}, TextOptions{Color: true}))
	})
}

func readBack(t *testing.T, write func() ([]byte, error), to any) {
	t.Helper()
	b, err := write()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, to), "%s", b)
}
