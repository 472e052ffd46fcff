package metrics

import (
	"context"
	"math"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRegisterChecksNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"ab": true, "_a": true, "A1_": true, strings.Repeat("a", 129): true,
		"": false, "a": false, "1a": false, "a-b": false, "a b": false, "ä1": false, strings.Repeat("a", 130): false,
	} {
		_, err := NewRegistry().Register(name, Counter, Default)
		assert.Equal(t, ok, err == nil, "%q: %v", name, err)
	}
}

func TestRegisterTwiceIsTheSameMetricUnlessItDiffers(t *testing.T) {
	r := NewRegistry()
	a, err := r.Register("latency", Trend, Time)
	require.NoError(t, err)
	b, err := r.Register("latency", Trend, Time)
	require.NoError(t, err)
	assert.Same(t, a, b)
	_, err = r.Register("latency", Rate, Time)
	require.ErrorContains(t, err, `"latency" already exists as a trend, not a rate`)
	_, err = r.Register("latency", Trend, Default)
	require.ErrorContains(t, err, `values of type time, not default`)
}

func TestFindSubmetric(t *testing.T) {
	r := NewRegistry()
	m, err := r.Register("reqs", Counter, Default)
	require.NoError(t, err)
	sub, err := r.Find(`reqs{ a : "x" , b:y}`)
	require.NoError(t, err)
	assert.Same(t, m, sub.Parent)
	assert.Equal(t, []Tag{{"a", "x"}, {"b", "y"}}, sub.Filter)
	again, err := r.Find(`reqs{ a : "x" , b:y}`)
	require.NoError(t, err)
	assert.Same(t, sub, again)
	for _, key := range []string{"nope", "nope{a:b}", "reqs{", "reqs}", "reqs{}", "reqs{a}", "reqs{a:}", "reqs{:b}", "reqs{a:b}c", "reqs{,}"} {
		_, err := r.Find(key)
		assert.Error(t, err, key)
	}
}

func TestGroupTagsMayContainColons(t *testing.T) {
	_, filter, _, err := SplitKey("checks{group:::outer::inner}")
	require.NoError(t, err)
	assert.Equal(t, []Tag{{"group", "::outer::inner"}}, filter)
}

func FuzzSplitKey(f *testing.F) {
	for _, s := range []string{"a", "a{b:c}", "a{", "}a{", "a{b:c,d:e}", `a{"b":'c'}`, "a{::}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, key string) {
		name, filter, isSub, err := SplitKey(key)
		if err != nil {
			return
		}
		if !strings.HasPrefix(key, name) {
			t.Fatalf("%q: the name %q is not its beginning", key, name)
		}
		if isSub != (len(filter) > 0) {
			t.Fatalf("%q: isSub %v with %d tags", key, isSub, len(filter))
		}
	})
}

func TestEqualTagSetsAreTheSamePointer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := NewRegistry().Root()
		tags := rapid.MapOf(rapid.StringN(0, 3, -1), rapid.StringN(0, 3, -1)).Draw(t, "tags")
		keys := make([]string, 0, len(tags))
		for k := range tags {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		forward, backward := root, root
		for i := range keys {
			forward = forward.With(keys[i], "old").With(keys[i], tags[keys[i]])
			k := keys[len(keys)-1-i]
			backward = backward.With(k, tags[k])
		}
		if forward != backward {
			t.Fatalf("%v and %v differ", forward.Tags(), backward.Tags())
		}
		for k, want := range tags {
			if got, ok := forward.Get(k); !ok || got != want {
				t.Fatalf("tag %q is %q, want %q", k, got, want)
			}
			if _, ok := forward.Without(k).Get(k); ok {
				t.Fatalf("Without(%q) kept it", k)
			}
		}
		if len(root.Tags()) != 0 {
			t.Fatal("the root set changed")
		}
	})
}

func TestPercentileInterpolates(t *testing.T) {
	s := &TrendSink{}
	assert.Zero(t, s.Percentile(50))
	s.Add(7, 0)
	assert.Equal(t, 7.0, s.Percentile(99))
	for _, v := range []float64{1, 10, 4} {
		s.Add(v, 0)
	}
	// In order 1, 4, 7, 10: the median is halfway between 4 and 7.
	assert.Equal(t, 5.5, s.Percentile(50))
	assert.InDelta(t, 9.1, s.Percentile(90), 1e-12)
	assert.Equal(t, 1.0, s.Percentile(0))
	assert.Equal(t, 10.0, s.Percentile(100))
	s.Add(100, 0) // after it was sorted
	assert.Equal(t, 100.0, s.Percentile(100))
	assert.Zero(t, s.Percentile(-1))
	assert.Zero(t, s.Percentile(math.NaN()))
	assert.Equal(t, 24.4, s.Avg())
	assert.EqualValues(t, 5, s.Count())
}

func TestPercentilesAreOrdered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &TrendSink{}
		for _, v := range rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 1, 50).Draw(t, "values") {
			s.Add(v, 0)
		}
		last := s.Min()
		for p := 0.0; p <= 100; p += 2.5 {
			v := s.Percentile(p)
			if v < last-1e-6 || v > s.Max()+1e-6 {
				t.Fatalf("p(%v) is %v after %v, the maximum is %v", p, v, last, s.Max())
			}
			last = v
		}
	})
}

func TestGaugeKeepsTheLatestByTime(t *testing.T) {
	g := &GaugeSink{}
	g.Add(5, 100)
	g.Add(9, 50)
	assert.Equal(t, 5.0, g.Value)
	assert.Equal(t, 9.0, g.Max)
	g.Add(-1, 100)
	assert.Equal(t, -1.0, g.Value)
	assert.Equal(t, -1.0, g.Min)
}

func TestRateAndCounter(t *testing.T) {
	r := &RateSink{}
	assert.Zero(t, r.Rate())
	for _, v := range []float64{1, 0, 0.5, 0} {
		r.Add(v, 0)
	}
	assert.Equal(t, 0.5, r.Rate())
	c := &CounterSink{}
	c.Add(3, 0)
	c.Add(-1, 0)
	assert.Equal(t, 4.0, c.Rate(500*time.Millisecond))
	assert.Zero(t, c.Rate(0))
}

func TestEngineLosesNothing(t *testing.T) {
	r := NewRegistry()
	m, err := r.Register("reqs", Counter, Default)
	require.NoError(t, err)
	sub, err := r.Find("reqs{kind:even}")
	require.NoError(t, err)
	e := NewEngine(r)
	e.Start(time.Millisecond)
	even, odd := r.Root().With("kind", "even"), r.Root().With("kind", "odd")
	const users, each = 8, 2000
	var wg sync.WaitGroup
	for range users {
		b := e.NewBuffer()
		wg.Go(func() {
			for i := range each {
				tags := even
				if i%2 == 1 {
					tags = odd
				}
				b.Push(context.Background(), Sample{Metric: m, Tags: tags, Value: 1})
			}
		})
	}
	wg.Wait()
	e.Stop()
	e.View(func() {
		assert.Equal(t, float64(users*each), m.Sink().(*CounterSink).Count)
		assert.Equal(t, float64(users*each/2), sub.Sink().(*CounterSink).Count)
	})
}

func TestSamplesOfAnEndedContextAreDropped(t *testing.T) {
	r := NewRegistry()
	m, err := r.Register("reqs", Counter, Default)
	require.NoError(t, err)
	e := NewEngine(r)
	b := e.NewBuffer()
	ctx, cancel := context.WithCancel(context.Background())
	b.Push(ctx, Sample{Metric: m, Tags: r.Root(), Value: 1})
	cancel()
	b.Push(ctx, Sample{Metric: m, Tags: r.Root(), Value: 1})
	e.View(func() { assert.Equal(t, 1.0, m.Sink().(*CounterSink).Count) })
}

func TestChecksAreCountedInTheirOrder(t *testing.T) {
	r := NewRegistry()
	b, err := NewBuiltin(r)
	require.NoError(t, err)
	e := NewEngine(r)
	e.CountChecks(b.Checks)
	buf := e.NewBuffer()
	push := func(group, check string, v float64) {
		buf.Push(context.Background(), Sample{Metric: b.Checks, Tags: r.Root().With("group", group).With("check", check), Value: v})
	}
	push("::g", "z", 1)
	push("", "a", 0)
	push("::g", "z", 0)
	e.View(func() {
		assert.Equal(t, []Check{{Group: "::g", Name: "z", Passes: 1, Fails: 1}, {Name: "a", Fails: 1}}, e.Checks())
	})
}

func BenchmarkPush(b *testing.B) {
	r := NewRegistry()
	m, err := r.Register("reqs", Counter, Default)
	require.NoError(b, err)
	e := NewEngine(r)
	e.Start(50 * time.Millisecond)
	defer e.Stop()
	buf, ctx, tags := e.NewBuffer(), context.Background(), r.Root()
	b.ReportAllocs()
	for b.Loop() {
		buf.Push(ctx, Sample{Metric: m, Tags: tags, Value: 1})
	}
}
