package thresholds

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/runner/metrics"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Expr{
		"avg<200":         {"avg", 0, "<", 200},
		" rate >= 0.99 ":  {"rate", 0, ">=", 0.99},
		"p(99.9) <= 1e3":  {"p", 99.9, "<=", 1000},
		"count===3":       {"count", 0, "===", 3},
		"value!=-2.5":     {"value", 0, "!=", -2.5},
		"med==0":          {"med", 0, "==", 0},
		"max>0":           {"max", 0, ">", 0},
		"min<1":           {"min", 0, "<", 1},
		"p(0)<1":          {"p", 0, "<", 1},
		"p(100)<1":        {"p", 100, "<", 1},
		"avg\t<\t200.000": {"avg", 0, "<", 200},
	} {
		got, err := Parse(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for text, reason := range map[string]string{
		"":            "no operator",
		"avg":         "no operator",
		"avg=3":       "no operator",
		"<3":          "unknown aggregation",
		"foo<3":       `unknown aggregation "foo"`,
		"p(101)<3":    "in [0, 100]",
		"p(-1)<3":     "in [0, 100]",
		"p(NaN)<3":    "in [0, 100]",
		"p(95<3":      "unknown aggregation",
		"p95<3":       "unknown aggregation",
		"p( 95 )<3":   "unknown aggregation",
		"p (95)<3":    "unknown aggregation",
		"sum<3":       `unknown aggregation "sum"`,
		"avg<":        "is not a number",
		"avg<3ms":     `"3ms" is not a number`,
		"avg<NaN":     "is not a number",
		"avg<Inf":     "is not a number",
		"avg<3<4":     "is not a number",
		"avg<3 && 1":  "is not a number",
		"avg====3":    "is not a number",
		"avg <3, p<4": "is not a number",
	} {
		_, err := Parse(text)
		require.ErrorContains(t, err, reason, text)
		require.ErrorContains(t, err, fmt.Sprintf("%q", text))
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"avg<200", "p(99.9)>=1", "rate===0", "p(", "value!=1e9", "<>", "count>-0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(fmt.Sprintf("%s%s%v", e.Name(), e.Op, e.Bound))
		if err != nil {
			t.Fatalf("%q was read as %+v, which is not readable: %v", text, e, err)
		}
		if again != e {
			t.Fatalf("%q was read as %+v and then %+v", text, e, again)
		}
		// Exactly one of < and >= holds for any number.
		if (Expr{Op: "<", Bound: e.Bound}).Holds(1) == (Expr{Op: ">=", Bound: e.Bound}).Holds(1) {
			t.Fatalf("bound %v is compared inconsistently", e.Bound)
		}
	})
}

func TestHolds(t *testing.T) {
	for op, want := range map[string][3]bool{ // of 1, 2 and 3 against 2
		"<": {true, false, false}, "<=": {true, true, false}, ">": {false, false, true}, ">=": {false, true, true},
		"==": {false, true, false}, "===": {false, true, false}, "!=": {true, false, true},
	} {
		for i, v := range []float64{1, 2, 3} {
			assert.Equal(t, want[i], Expr{Op: op, Bound: 2}.Holds(v), "%v %s 2", v, op)
		}
	}
}

// fixture is a registry with a metric of each kind.
func fixture(t *testing.T) (*metrics.Registry, *metrics.Engine) {
	t.Helper()
	r := metrics.NewRegistry()
	for name, kind := range map[string]metrics.Kind{"cc": metrics.Counter, "gg": metrics.Gauge, "rr": metrics.Rate, "tt": metrics.Trend} {
		_, err := r.Register(name, kind, metrics.Default)
		require.NoError(t, err)
	}
	return r, metrics.NewEngine(r)
}

func specs(sources ...string) []Spec {
	out := make([]Spec, len(sources))
	for i, s := range sources {
		out[i].Source = s
	}
	return out
}

func TestNewNamesEveryFault(t *testing.T) {
	r, _ := fixture(t)
	_, err := New(r, map[string][]Spec{
		"cc": specs("p(95)<3", "rate>1"), "tt": specs("rate<1", "count>1"), "gg": specs("avg<3"),
		"rr": specs("count>1", "nonsense"), "nope": specs("avg<1"), "tt{": specs("avg<1"),
	})
	require.ErrorIs(t, err, ErrInvalid)
	for _, want := range []string{
		`a metric of type counter has no aggregation p(95), want one of count, rate`,
		`a metric of type trend has no aggregation rate, want one of avg, min, max, med, p(N)`,
		`a metric of type trend has no aggregation count`,
		`a metric of type gauge has no aggregation avg, want one of value`,
		`a metric of type rate has no aggregation count, want one of rate`,
		`"nonsense"`, `no metric "nope"`, `"tt{" must end with a closing brace`,
	} {
		assert.ErrorContains(t, err, want)
	}
}

func TestEvaluateSkipsUnseenMetricsUntilTheEnd(t *testing.T) {
	r, e := fixture(t)
	set, err := New(r, map[string][]Spec{
		"cc": specs("count>5"), "cc{a:b}": specs("count==0"), "gg": specs("value>5"),
		"rr": specs("rate>0.5"), "tt": specs("p(95)>5"),
	})
	require.NoError(t, err)
	e.View(func() {
		assert.Empty(t, set.Evaluate(time.Second, false).Failed)
		// At the end k6 judges them by zeros, except a rate, which passes.
		assert.Equal(t, []string{"cc", "gg", "tt"}, set.Evaluate(time.Second, true).Failed)
		assert.Equal(t, []string{"cc", "cc{a:b}", "gg", "rr", "tt"}, set.Unseen())
	})
}

func TestEvaluateEveryAggregation(t *testing.T) {
	r, e := fixture(t)
	b := e.NewBuffer()
	for _, v := range []float64{1, 2, 9} {
		for _, name := range []string{"cc", "gg", "tt"} {
			b.Push(context.Background(), metrics.Sample{Metric: r.Get(name), Tags: r.Root(), Value: v})
		}
	}
	for _, v := range []float64{1, 1, 0, 1} {
		b.Push(context.Background(), metrics.Sample{Metric: r.Get("rr"), Tags: r.Root(), Value: v})
	}
	holding := map[string][]Spec{
		"cc": specs("count==12", "rate==6"), "gg": specs("value==9"), "rr": specs("rate==0.75"),
		"tt": specs("avg==4", "min==1", "med==2", "max==9", "p(75)==5.5"),
	}
	set, err := New(r, holding)
	require.NoError(t, err)
	e.View(func() { assert.Empty(t, set.Evaluate(2*time.Second, true).Failed) })
	for key, list := range holding {
		for _, s := range list {
			e1, err := Parse(s.Source)
			require.NoError(t, err)
			broken := Spec{Source: fmt.Sprintf("%s!=%v", e1.Name(), e1.Bound)}
			set, err := New(r, map[string][]Spec{key: {broken}})
			require.NoError(t, err)
			e.View(func() { assert.Equal(t, []string{key}, set.Evaluate(2*time.Second, true).Failed, broken.Source) })
		}
	}
}

func TestAbortWaitsForItsDelay(t *testing.T) {
	r, e := fixture(t)
	set, err := New(r, map[string][]Spec{"cc": {{Source: "count<1", AbortOnFail: true, DelayAbortEval: 5 * time.Second}}})
	require.NoError(t, err)
	e.NewBuffer().Push(context.Background(), metrics.Sample{Metric: r.Get("cc"), Tags: r.Root(), Value: 1})
	e.View(func() {
		early := set.Evaluate(4*time.Second, false)
		assert.Equal(t, []string{"cc"}, early.Failed)
		assert.False(t, early.Abort)
		assert.True(t, set.Evaluate(5*time.Second, false).Abort)
	})
}
