package runner

import (
	"encoding/json"
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
		"summaryTrendStats": [1], "thresholds": {"m": "avg<1"}, "dns": {}, "maxRedirects": {}, "setupTimeout": "1 fortnight"}`))
	for _, want := range []string{
		"options.vus: 1.5 is not a whole number", `options.iterations: "x" is not`, "options.duration: true is no duration", "options.throw: 1 is neither",
		`options.tags: the value of "a" is []`, "options.userAgent: 3 is not text", "options.summaryTrendStats: element 0 is 1", `options.thresholds: "m": "avg<1" is no list`,
		"options.dns is not in the built-in runner; use a k6 build (see README)", "options.maxRedirects: {}", `options.setupTimeout: "1 fortnight"`,
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
	_, err = EnvOptions([]string{"K6_VUS=x", "K6_THROW=maybe", "K6_DNS=ttl=1m", "K6_TAGS=a", "K6_THRESHOLDS=x"})
	for _, want := range []string{"K6_VUS: ", "K6_THROW: ", "K6_DNS is not in the built-in runner", "K6_TAGS: ", "K6_THRESHOLDS: "} {
		assert.ErrorContains(t, err, want)
	}
}

// TestEveryOptionCanBeOverridden finds a field that Apply forgot.
func TestEveryOptionCanBeOverridden(t *testing.T) {
	values := map[string]any{"thresholds": map[string]any{"m": []any{"avg<1"}}, "tags": map[string]any{"a": "b"}, "summaryTrendStats": []any{"med"},
		"stages": "1s:2", "scenarios": map[string]any{}, "executionSegment": "1/2",
		"hosts": map[string]any{"a.test": "127.0.0.1"}, "tlsAuth": []any{map[string]any{"cert": "c", "key": "k"}}}
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

func TestScenariosOfOptions(t *testing.T) {
	const grace, most = 30 * time.Second, 10 * time.Minute
	stages := []executor.Stage{{Duration: time.Second, Target: 4}}
	given := []Scenario{{Name: "a", Executor: executor.PerVUIterations{VUs: 2, Each: 2, MaxDuration: most}}}
	for _, c := range []struct {
		o    Options
		want executor.Executor
	}{
		{Options{}, executor.PerVUIterations{VUs: 1, Each: 1, MaxDuration: most, GracefulStop: grace}},
		{Options{VUs: p(3)}, executor.SharedIterations{VUs: 3, Total: 3, MaxDuration: most, GracefulStop: grace}},
		{Options{VUs: p(3), Iterations: p(int64(9))}, executor.SharedIterations{VUs: 3, Total: 9, MaxDuration: most, GracefulStop: grace}},
		{Options{Iterations: p(int64(9)), Duration: p(time.Second)}, executor.SharedIterations{VUs: 1, Total: 9, MaxDuration: time.Second, GracefulStop: grace}},
		{Options{VUs: p(3), Duration: p(time.Second)}, executor.ConstantVUs{VUs: 3, Duration: time.Second, GracefulStop: grace}},
		{Options{VUs: p(3), Stages: stages}, executor.RampingVUs{StartVUs: 3, Stages: stages, GracefulRampDown: grace, GracefulStop: grace}},
		{Options{Scenarios: given}, given[0].Executor},
		{Options{VUs: p(3), Scenarios: given}, executor.SharedIterations{VUs: 3, Total: 3, MaxDuration: most, GracefulStop: grace}},
	} {
		plan, err := c.o.Plan()
		require.NoError(t, err)
		require.Len(t, plan, 1)
		assert.Equal(t, c.want, plan[0].Executor)
	}
	for _, o := range []Options{
		{Iterations: p(int64(1)), Stages: stages}, {Duration: p(time.Second), Scenarios: given}, {Stages: stages, Scenarios: given},
	} {
		_, err := o.Plan()
		assert.ErrorContains(t, err, "are two ways to say how much load there is: give one")
	}
}

func TestParseScenarios(t *testing.T) {
	o, warnings, err := ParseOptions([]byte(`{"scenarios": {
		"a": {"executor": "constant-arrival-rate", "rate": 5, "duration": "2s", "preAllocatedVUs": 3, "startTime": 500, "exec": "go",
			"env": {"A": "b"}, "tags": {"t": 1}, "gracefulStop": "0s"},
		"b": {"executor": "ramping-vus", "stages": [{"duration": "1m", "target": 3}], "gracefulRampDown": "1s"},
		"c": {"executor": "ramping-arrival-rate", "startRate": 1, "timeUnit": "1m", "preAllocatedVUs": 1, "maxVUs": 4, "stages": [{"duration": 1000, "target": 3}]},
		"d": {"executor": "per-vu-iterations", "vus": 2, "iterations": 3, "maxDuration": "5s"},
		"e": {"executor": "shared-iterations"}, "f": {"executor": "constant-vus", "vus": 2, "duration": "1s"}
	}}`))
	require.NoError(t, err)
	assert.Empty(t, warnings)
	const grace, most = 30 * time.Second, 10 * time.Minute
	assert.Equal(t, []Scenario{
		{Name: "a", StartTime: time.Second / 2, Exec: "go", Env: map[string]string{"A": "b"}, Tags: map[string]string{"t": "1"}, Executor: executor.ArrivalRate{
			Constant: true, TimeUnit: time.Second, Stages: []executor.Stage{{Duration: 2 * time.Second, Target: 5}}, PreAllocatedVUs: 3, MaxVUs: 3,
		}},
		{Name: "b", Executor: executor.RampingVUs{StartVUs: 1, Stages: []executor.Stage{{Duration: time.Minute, Target: 3}}, GracefulRampDown: time.Second, GracefulStop: grace}},
		{Name: "c", Executor: executor.ArrivalRate{
			StartRate: 1, TimeUnit: time.Minute, Stages: []executor.Stage{{Duration: time.Second, Target: 3}}, PreAllocatedVUs: 1, MaxVUs: 4, GracefulStop: grace,
		}},
		{Name: "d", Executor: executor.PerVUIterations{VUs: 2, Each: 3, MaxDuration: 5 * time.Second, GracefulStop: grace}},
		{Name: "e", Executor: executor.SharedIterations{VUs: 1, Total: 1, MaxDuration: most, GracefulStop: grace}},
		{Name: "f", Executor: executor.ConstantVUs{VUs: 2, Duration: time.Second, GracefulStop: grace}},
	}, o.Scenarios)

	_, _, err = ParseOptions([]byte(`{"executionSegment": "1/4:x", "scenarios": {
		"a b": {"executor": "constant-vus"}, "a": 1, "b": {"executor": "ramping"}, "c": {"executor": "constant-vus", "vus": 1.5, "rate": 3},
		"d": {"executor": "constant-vus", "duration": "100ms"}, "e": {"executor": "externally-controlled", "vus": 1, "duration": "1s"},
		"f": {"executor": "ramping-vus", "startTime": -1, "exec": "", "stages": [{"duration": "1s"}, 3, {"duration": "1s", "target": 1, "tarjet": 2}]},
		"g": {"executor": "constant-arrival-rate"}, "h": {"executor": "shared-iterations", "env": 3, "options": {}}
	}}`))
	for _, want := range []string{
		`options.executionSegment: segment bound "x": want a fraction, a number or a percentage`,
		`options.scenarios: "a b" is no name of a scenario`, `options.scenarios: "a": 1 is no scenario`,
		`options.scenarios: b.executor: "ramping" is none of shared-iterations, per-vu-iterations, constant-vus, ramping-vus, constant-arrival-rate, ramping-arrival-rate`,
		`options.scenarios: c.vus: 1.5 is not a whole number`, `options.scenarios: c.duration: is missing`,
		`options.scenarios: c.rate: is unknown; want duration, env, exec, executor, gracefulStop, options, startTime, tags, vus`,
		`options.scenarios: d.duration: 100ms, want at least 1s`, `options.scenarios: e.executor: "externally-controlled" is not in the built-in runner`,
		`options.scenarios: f.startTime: -1ms is negative`, `options.scenarios: f.exec: is empty`,
		`options.scenarios: f.stages: [0].target: is missing`, `[1]: 3 is no stage`, `[2].tarjet: is unknown; want duration, target`,
		`options.scenarios: g.rate: is missing`, `options.scenarios: g.preAllocatedVUs: is missing`,
		`options.scenarios: h.env: 3 is no object of texts`, `options.scenarios: h.options: is for k6/browser`,
	} {
		assert.ErrorContains(t, err, want)
	}
}

func TestStagesFromTheEnvironment(t *testing.T) {
	o, err := EnvOptions([]string{"K6_STAGES=5s:10,1m:0"})
	require.NoError(t, err)
	assert.Equal(t, []executor.Stage{{Duration: 5 * time.Second, Target: 10}, {Duration: time.Minute}}, o.Stages)
	_, err = EnvOptions([]string{"K6_STAGES=5s,x:1,1s:y"})
	for _, want := range []string{`"5s" is no stage`, `"x:1" is no stage`, `"1s:y" is no stage`} {
		assert.ErrorContains(t, err, want)
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	require.NoError(t, Options{}.Validate())
	err := Options{
		VUs: p(0), Iterations: p(int64(0)), Duration: p(time.Duration(0)), TeardownTimeout: p(-time.Second), MaxRedirects: p(-1), Batch: p(0),
		SummaryTrendStats: []string{"p(101)", "sum"}, SummaryTimeUnit: p("h"),
	}.Validate()
	for _, want := range []string{
		"vus: 0, want at least 1", "iterations: 0, want at least 1", "maxDuration: 0s, want at least 1s", "teardownTimeout: -1s", "maxRedirects: -1, want at least 0",
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
	for _, s := range []string{`{}`, `{"vus": 1}`, `{"duration": "1d2h", "thresholds": {"m": ["avg<1", {"threshold": "x", "delayAbortEval": 3}]}}`, `{"tags": {"a": 1}}`, `{"stages": [{"duration": "1s", "target": 3}]}`, `{"scenarios": {"a": {"executor": "constant-arrival-rate", "rate": 1, "duration": "1s", "preAllocatedVUs": 1}}}`, `null`, `[]`} {
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
		plan, err := o.Plan()
		require.NoError(t, err)
		for _, s := range plan {
			e := s.Executor
			if _, all := executor.Peak(e.Plan()); all < 1 || e.Length() < 0 {
				t.Fatalf("%s is valid, and yet makes %s", data, e.Describe())
			}
		}
		_, err = o.JSON()
		require.NoError(t, err)
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

func TestOptionsAsJSON(t *testing.T) {
	o, _, err := ParseOptions([]byte(`{"vus": 2, "stages": [{"duration": "1s", "target": 3}], "tags": {"a": "b"}, "setupTimeout": 1500,
		"thresholds": {"m": ["avg<1", {"threshold": "max<2", "abortOnFail": true}]}, "executionSegment": "1/2", "rps": 3, "httpDebug": "full",
		"tlsVersion": "tls1.2", "noVUConnectionReuse": true}`))
	require.NoError(t, err)
	b, err := o.JSON()
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal(b, &got))
	for _, opt := range options() {
		_, has := got[opt.key]
		_, load := map[string]bool{"vus": true, "stages": true, "duration": true, "iterations": true}[opt.key]
		assert.Equal(t, !load, has, opt.key)
	}
	for key, v := range got {
		if v == nil {
			delete(got, key)
		}
	}
	assert.Equal(t, map[string]any{
		"tags": map[string]any{"a": "b"}, "setupTimeout": "1.5s", "executionSegment": "0:1/2", "rps": 3.0, "httpDebug": "full", "noVUConnectionReuse": true,
		"tlsVersion": map[string]any{"min": "tls1.2", "max": "tls1.2"},
		"thresholds": map[string]any{"m": []any{"avg<1", map[string]any{"threshold": "max<2", "abortOnFail": true, "delayAbortEval": "0s"}}},
		"scenarios": map[string]any{"default": map[string]any{
			"executor": "ramping-vus", "startTime": "0s", "exec": "default", "env": nil, "tags": nil, "startVUs": 2.0,
			"stages": []any{map[string]any{"duration": "1s", "target": 3.0}}, "gracefulRampDown": "30s", "gracefulStop": "30s",
		}},
	}, got)
}
