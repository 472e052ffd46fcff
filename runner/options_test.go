package runner

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/runner/executor"
	"github.com/retrylab/retrylab/runner/thresholds"
)

func p[T any](v T) *T { return &v }

func TestParseOptions(t *testing.T) {
	o, warnings, err := ParseOptions([]byte(`{
		"vus": 3, "duration": "1m30s", "iterations": null, "setupTimeout": 1500, "tags": {"a": "b", "n": 1},
		"thresholds": {"m": ["avg<1", {"threshold": "max<2", "abortOnFail": true, "delayAbortEval": "10s"}]},
		"summaryTrendStats": ["avg", "p(99)"], "noConnectionReuse": true, "insecureSkipTLSVerify": false, "userAgent": "me",
		"ext": {"loadimpact": {}}, "typo": 1
	}`))
	require.NoError(t, err)
	assert.Equal(t, Options{
		VUs: p(3), Duration: p(90 * time.Second), SetupTimeout: p(1500 * time.Millisecond), Tags: map[string]string{"a": "b", "n": "1"},
		Thresholds: map[string][]thresholds.Spec{"m": {
			{Source: "avg<1"}, {Source: "max<2", AbortOnFail: true, DelayAbortEval: 10 * time.Second},
		}},
		SummaryTrendStats: []string{"avg", "p(99)"}, NoConnectionReuse: p(true), InsecureSkipTLSVerify: p(false), UserAgent: p("me"),
	}, o)
	assert.Equal(t, []string{`unknown option "typo" in the script's options`}, warnings)
	o, _, err = ParseOptions(nil)
	require.NoError(t, err)
	assert.Equal(t, Options{}, o)
}

func TestParseOptionsNamesEveryFault(t *testing.T) {
	_, _, err := ParseOptions([]byte(`{"vus": 1.5, "iterations": "x", "duration": true, "throw": 1, "tags": {"a": []}, "userAgent": 3,
		"summaryTrendStats": [1], "thresholds": {"m": "avg<1"}, "scenarios": {}, "rps": 3, "maxRedirects": {}, "setupTimeout": "1 fortnight"}`))
	for _, want := range []string{
		"options.vus: 1.5 is not a whole number", `options.iterations: "x" is not`, "options.duration: true is no duration", "options.throw: 1 is neither",
		`options.tags: the value of "a" is []`, "options.userAgent: 3 is not text", "options.summaryTrendStats: element 0 is 1", `options.thresholds: "m": "avg<1" is no list`,
		"options.scenarios is not in the built-in runner; use a k6 build (see README)", "options.rps is not", "options.maxRedirects: {}", `options.setupTimeout: "1 fortnight"`,
	} {
		assert.ErrorContains(t, err, want)
	}
	for _, bad := range []string{`[]`, `3`, `{"thresholds": {"m": [3]}}`, `{"thresholds": {"m": [{"threshold": 1}]}}`, `{"thresholds": {"m": [{"threshold": "a", "abortOnFail": 1}]}}`} {
		_, _, err := ParseOptions([]byte(bad))
		assert.Error(t, err, bad)
	}
}

func TestEnvOptions(t *testing.T) {
	o, err := EnvOptions([]string{
		"K6_VUS=4", "K6_DURATION=2s", "K6_THROW=true", "K6_TAGS=a:b, c:d:e", "K6_SUMMARY_TREND_STATS=avg, p(99.9)", "K6_THRESHOLDS={\"m\": [\"avg<1\"]}",
		"K6_ITERATIONS=", "K6_OUT=json", "PATH=/bin", "garbage",
	})
	require.NoError(t, err)
	assert.Equal(t, Options{
		VUs: p(4), Duration: p(2 * time.Second), Throw: p(true), Tags: map[string]string{"a": "b", "c": "d:e"},
		SummaryTrendStats: []string{"avg", "p(99.9)"}, Thresholds: map[string][]thresholds.Spec{"m": {{Source: "avg<1"}}},
	}, o)
	_, err = EnvOptions([]string{"K6_VUS=x", "K6_THROW=maybe", "K6_RPS=3", "K6_TAGS=a", "K6_THRESHOLDS=x"})
	for _, want := range []string{"K6_VUS: ", "K6_THROW: ", "K6_RPS is not in the built-in runner", "K6_TAGS: ", "K6_THRESHOLDS: "} {
		assert.ErrorContains(t, err, want)
	}
}

// TestEveryOptionCanBeOverridden finds a field that Apply forgot.
func TestEveryOptionCanBeOverridden(t *testing.T) {
	values := map[string]any{"thresholds": map[string]any{"m": []any{"avg<1"}}, "tags": map[string]any{"a": "b"}, "summaryTrendStats": []any{"med"}}
	for _, opt := range options() {
		var over Options
		set := false
		for _, v := range []any{values[opt.key], 7.0, true, "7s"} {
			if v != nil && opt.set(&over, v) == nil {
				set = true
				break
			}
		}
		require.True(t, set, opt.key)
		assert.Equal(t, over, Options{}.Apply(over), opt.key)
		assert.Equal(t, over, over.Apply(Options{}), opt.key)
	}
}

func TestApplyTakesTheLengthFromOnePlace(t *testing.T) {
	o := Options{VUs: p(2), Duration: p(time.Minute)}.Apply(Options{Iterations: p(int64(5))})
	assert.Nil(t, o.Duration)
	assert.EqualValues(t, 5, *o.Iterations)
	assert.Equal(t, 2, *o.VUs)
}

func TestExecutorOfOptions(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want executor.Executor
	}{
		{Options{}, executor.SharedIterations{Users: 1, Total: 1, MaxDuration: 10 * time.Minute, GracefulStop: 30 * time.Second}},
		{Options{VUs: p(3)}, executor.SharedIterations{Users: 1, Total: 1, MaxDuration: 10 * time.Minute, GracefulStop: 30 * time.Second}},
		{Options{VUs: p(3), Iterations: p(int64(9))}, executor.SharedIterations{Users: 3, Total: 9, MaxDuration: 10 * time.Minute, GracefulStop: 30 * time.Second}},
		{Options{Iterations: p(int64(9)), Duration: p(time.Second)}, executor.SharedIterations{Users: 1, Total: 9, MaxDuration: time.Second, GracefulStop: 30 * time.Second}},
		{Options{VUs: p(3), Duration: p(time.Second)}, executor.ConstantVUs{Users: 3, Duration: time.Second, GracefulStop: 30 * time.Second}},
	} {
		assert.Equal(t, c.want, c.o.Executor())
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	require.NoError(t, Options{}.Validate())
	err := Options{
		VUs: p(0), Iterations: p(int64(0)), Duration: p(time.Duration(0)), TeardownTimeout: p(-time.Second), MaxRedirects: p(-1), Batch: p(0),
		SummaryTrendStats: []string{"p(101)", "sum"}, SummaryTimeUnit: p("h"),
	}.Validate()
	for _, want := range []string{
		"vus: 0, want at least 1", "iterations: 0, want at least 1", "duration: 0s, want more than 0", "teardownTimeout: -1s", "maxRedirects: -1, want at least 0",
		"batch: 0, want at least 1", `"p(101)" is none of`, `"sum" is none of`, `summaryTimeUnit: "h" is none of s, ms, us`,
	} {
		assert.ErrorContains(t, err, want)
	}
	require.ErrorContains(t, Options{VUs: p(5), Iterations: p(int64(3))}.Validate(), "iterations: 3, want at least as many as there are VUs (5)")
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1.5s": 1500 * time.Millisecond, "250": 250 * time.Millisecond, " 1m30s ": 90 * time.Second, "1d": 24 * time.Hour, "2d3h": 51 * time.Hour,
		"0": 0, "-1d2h": -26 * time.Hour, "10us": 10 * time.Microsecond,
	} {
		got, err := ParseDuration(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, bad := range []string{"", "s", "1x", "d", "1.5d", "1d2", "1h1d", "NaN", "Inf", "1e300", "999999999d"} {
		_, err := ParseDuration(bad)
		assert.Error(t, err, bad)
	}
}

func FuzzParseOptions(f *testing.F) {
	for _, s := range []string{`{}`, `{"vus": 1}`, `{"duration": "1d2h", "thresholds": {"m": ["avg<1", {"threshold": "x", "delayAbortEval": 3}]}}`, `{"tags": {"a": 1}}`, `{"stages": []}`, `null`, `[]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o, _, err := ParseOptions(data)
		if err != nil {
			return
		}
		if o.Validate() != nil {
			return
		}
		e := o.Executor()
		if e.VUs() < 1 || e.Length() <= 0 {
			t.Fatalf("%s is valid, and yet makes %s", data, e.Describe())
		}
	})
}

func FuzzParseDuration(f *testing.F) {
	for _, s := range []string{"1s", "1d2h", "-1d", "3.5", "99999d23h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDuration(s)
		if err != nil {
			return
		}
		again, err := ParseDuration(d.String())
		if err != nil || again != d {
			t.Fatalf("%q is %v, and that is %v, %v", s, d, again, err)
		}
	})
}
