package catalog_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/retrylab/retrylab/resilience"
	"github.com/retrylab/retrylab/resilience/backoff"
	"github.com/retrylab/retrylab/resilience/breaker"
	"github.com/retrylab/retrylab/resilience/budget"
	"github.com/retrylab/retrylab/resilience/bulkhead"
	"github.com/retrylab/retrylab/resilience/catalog"
	"github.com/retrylab/retrylab/resilience/hedge"
	"github.com/retrylab/retrylab/resilience/httpcall"
	"github.com/retrylab/retrylab/resilience/ratelimit"
	"github.com/retrylab/retrylab/resilience/throttle"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

func TestThePublishedPolicies(t *testing.T) {
	var got []catalog.Description
	for _, e := range catalog.Builtin().Entries() {
		got = append(got, catalog.Describe(e.Config))
	}
	require.Greater(t, len(got), 7)
	assert.Equal(t, []catalog.Description{
		{Name: "no-retry-low-timeout", MaxAttempts: 1, AttemptTimeout: 180 * ms, Guards: []string{"timeout"}},
		{Name: "no-retry-standard-timeout", MaxAttempts: 1, AttemptTimeout: 260 * ms, Guards: []string{"timeout"}},
		{Name: "immediate-retry", MaxAttempts: 3, AttemptTimeout: 260 * ms, Guards: []string{"retry", "timeout"}},
		{Name: "exponential-backoff", MaxAttempts: 3, AttemptTimeout: 260 * ms, Guards: []string{"retry", "timeout"}},
		{Name: "jitter", MaxAttempts: 3, AttemptTimeout: 260 * ms, Guards: []string{"retry", "timeout"}},
		{Name: "circuit-breaker", MaxAttempts: 3, AttemptTimeout: 260 * ms, Guards: []string{"retry", "breaker", "timeout"}},
		{Name: "bulkhead", MaxAttempts: 3, AttemptTimeout: 260 * ms, Guards: []string{"retry", "bulkhead", "timeout"}},
	}, got[:7])
	assert.Equal(t, []catalog.Description{
		{Name: "payments", MaxAttempts: 3, AttemptTimeout: time.Second, Guards: []string{"fallback", "breaker", "retry", "timeout"}},
		{Name: "retry-budget", MaxAttempts: 3, AttemptTimeout: 260 * ms, Guards: []string{"retry", "timeout"}, Budget: "window"},
		{Name: "grpc-throttled", MaxAttempts: 3, AttemptTimeout: 260 * ms, Guards: []string{"retry", "timeout"}, Budget: "tokens"},
		{Name: "aws-standard", MaxAttempts: 3, AttemptTimeout: 260 * ms, Guards: []string{"retry", "timeout"}, Budget: "quota"},
		{Name: "hedged", MaxAttempts: 1, AttemptTimeout: 260 * ms, Guards: []string{"timeout", "hedge"}, Budget: "window"},
		{Name: "adaptive-throttle", MaxAttempts: 3, AttemptTimeout: 260 * ms, Guards: []string{"throttle", "retry", "timeout"}},
	}, got[7:])

	e, err := catalog.Builtin().Lookup("circuit-breaker")
	require.NoError(t, err)
	assert.Equal(t, resilience.BreakerGuard{
		Config: breaker.Config{
			Window: breaker.Window{Calls: 20}, FailureRate: 0.5, MinCalls: 10,
			OpenFor: breaker.OpenFor{Initial: 2 * time.Second}, HalfOpen: breaker.Probes{Calls: 4},
		},
		Counts: resilience.SetOf(resilience.Timeout, resilience.Connect, resilience.Reset, resilience.HTTP5xx),
	}, e.Config.Guards[1])
	schedule := e.Config.Guards[0].(resilience.RetryGuard).Backoff
	assert.Equal(t, backoff.Schedule{Initial: 75 * ms, Multiplier: 2, Max: 30 * time.Second, Jitter: backoff.Factor, Fraction: 0.5}, schedule)
}

func TestShownSourceReadsBackAsTheSamePolicy(t *testing.T) {
	for _, e := range catalog.Builtin().Entries() {
		again, err := catalog.Parse("shown", []byte("- "+strings.ReplaceAll(strings.TrimSpace(e.Source), "\n", "\n  ")))
		require.NoError(t, err)
		assert.Equal(t, e.Config, again.Entries()[0].Config)
	}
}

func TestLookupNamesTheKnownOnes(t *testing.T) {
	_, err := catalog.Builtin().Lookup("jitterr")
	assert.EqualError(t, err, `unknown policy "jitterr", known are: no-retry-low-timeout, no-retry-standard-timeout, immediate-retry, exponential-backoff, jitter, circuit-breaker, bulkhead, payments, retry-budget, grpc-throttled, aws-standard, hedged, adaptive-throttle`)
}

// decode reads one policy from JSON, as a JavaScript object comes.
func decode(t *testing.T, text string) (resilience.Config, error) {
	t.Helper()
	var tree any
	require.NoError(t, json.Unmarshal([]byte(text), &tree))
	return catalog.Decode(tree)
}

func TestDefaults(t *testing.T) {
	c, err := decode(t, `{"name": "p", "guards": [{"retry": {}}, {"breaker": {}}, {"timeout": 260}]}`)
	require.NoError(t, err)
	assert.Equal(t, resilience.Instance, c.Scope)
	assert.Equal(t, []resilience.Guard{
		resilience.RetryGuard{
			MaxAttempts: 3, Backoff: backoff.Schedule{Multiplier: 2, Max: 30 * time.Second},
			RetryOn: resilience.DefaultRetryOn(), MaxRetryAfter: 30 * time.Second,
		},
		resilience.BreakerGuard{
			Config: breaker.Config{
				Window: breaker.Window{Calls: 100}, FailureRate: 0.5, MinCalls: 10,
				OpenFor: breaker.OpenFor{Initial: 5 * time.Second}, HalfOpen: breaker.Probes{Calls: 1},
			},
			Counts: resilience.DefaultCounts(),
		},
		resilience.TimeoutGuard{Limit: 260 * ms},
	}, c.Guards)
}

func TestEveryKeyIsRead(t *testing.T) {
	c, err := decode(t, `{"name": "p", "scope": "vu", "guards": [
		{"timeout": "PT1.5S"},
		{"retry": {"maxAttempts": 5, "backoff": {"initial": "1s", "multiplier": 3, "max": "1m"}, "jitter": {"add": 0.2},
			"retryOn": ["timeout", "429", 429, "bulkhead_full"], "retryAfter": {"max": "5s"}}},
		{"breaker": {"window": {"time": "10s"}, "failureRate": 0.25, "minCalls": 7, "slowCall": {"over": "1s", "rate": 0.75},
			"openFor": {"initial": "1s", "multiplier": 2, "max": "8s"}, "halfOpen": {"calls": 2, "maxWait": "3s"}, "counts": ["5xx", "throw"]}},
		{"bulkhead": {"maxConcurrent": 16, "maxWait": "1s", "maxQueue": 4}},
		{"rateLimit": {"permits": 10, "per": "1s", "maxWait": "50ms"}},
		{"throttle": {"k": 1.5, "window": "1m"}},
		{"hedge": {"after": {"percentile": 99}, "max": 2, "budget": {"kind": "concurrency", "percent": 10, "min": 1}}},
		{"hedge": {"after": "120ms"}},
		{"fallback": {"status": 202, "body": "{}", "on": ["breaker_open"]}},
		{"fallback": {"cache": {"ttl": "30s"}}},
		{"retry": {"budget": {"kind": "window", "ratio": 0.1, "minPerSecond": 1, "ttl": "5s", "name": "all"}}},
		{"retry": {"budget": {"kind": "tokens", "max": 20, "ratio": 0.2}}},
		{"retry": {"budget": {"kind": "quota", "capacity": 100, "cost": 2, "timeoutCost": 3}}}
	]}`)
	require.NoError(t, err)
	assert.Equal(t, resilience.VU, c.Scope)
	assert.Equal(t, []resilience.Guard{
		resilience.TimeoutGuard{Limit: 1500 * ms},
		resilience.RetryGuard{
			MaxAttempts:   5,
			Backoff:       backoff.Schedule{Initial: time.Second, Multiplier: 3, Max: time.Minute, Jitter: backoff.Add, Fraction: 0.2},
			RetryOn:       resilience.SetOf(resilience.Timeout, resilience.HTTP429, resilience.BulkheadFull),
			MaxRetryAfter: 5 * time.Second,
		},
		resilience.BreakerGuard{
			Config: breaker.Config{
				Window: breaker.Window{Time: 10 * time.Second}, FailureRate: 0.25, MinCalls: 7,
				SlowCall: breaker.SlowCall{Over: time.Second, Rate: 0.75},
				OpenFor:  breaker.OpenFor{Initial: time.Second, Multiplier: 2, Max: 8 * time.Second},
				HalfOpen: breaker.Probes{Calls: 2, MaxWait: 3 * time.Second},
			},
			Counts: resilience.SetOf(resilience.HTTP5xx, resilience.Thrown),
		},
		resilience.BulkheadGuard{Config: bulkhead.Config{MaxConcurrent: 16, MaxWait: time.Second, MaxQueue: 4}},
		resilience.RateLimitGuard{Config: ratelimit.Config{Permits: 10, Per: time.Second, MaxWait: 50 * ms}},
		resilience.ThrottleGuard{Config: throttle.Config{K: 1.5, Window: time.Minute}},
		resilience.HedgeGuard{Config: hedge.Config{Percentile: 99, Max: 2}, Budget: &budget.Config{Kind: budget.Concurrency, Percent: 10, Min: 1}},
		resilience.HedgeGuard{Config: hedge.Config{After: 120 * ms, Max: 1}},
		resilience.FallbackGuard{
			On:    resilience.SetOf(resilience.BreakerOpen),
			Value: &httpcall.Response{Status: 202, Body: []byte("{}")},
		},
		resilience.FallbackGuard{On: resilience.DefaultFallbackOn(), CacheTTL: 30 * time.Second},
	}, c.Guards[:len(c.Guards)-3])
	var budgets []budget.Config
	for _, g := range c.Guards[len(c.Guards)-3:] {
		budgets = append(budgets, *g.(resilience.RetryGuard).Budget)
	}
	assert.Equal(t, []budget.Config{
		{Kind: budget.Window, Name: "all", Ratio: 0.1, MinPerSecond: 1, TTL: 5 * time.Second},
		{Kind: budget.Tokens, Max: 20, Ratio: 0.2},
		{Kind: budget.Quota, Capacity: 100, Cost: 2, TimeoutCost: 3},
	}, budgets)
}

func TestFaultsOfTheOtherGuards(t *testing.T) {
	for body, fault := range map[string]string{
		`{"bulkhead": {"maxConcurrent": 1, "maxQueue": 3}}`:                    "guards[0].bulkhead.maxQueue: has no meaning without maxWait",
		`{"rateLimit": {"permits": 0}}`:                                        "guards[0].rateLimit.per: is missing",
		`{"rateLimit": {"permits": 0, "per": "1s"}}`:                           "guards[0].rateLimit.permits: 0 is not in 1 … 1000000000",
		`{"throttle": {"k": 0.5}}`:                                             "guards[0].throttle.k: 0.5 is not in 1 … 1000",
		`{"hedge": {}}`:                                                        "guards[0].hedge.after: is missing",
		`{"hedge": {"after": {"percentile": 100}}}`:                            "guards[0].hedge.after.percentile: 100 is not between 0 and 100",
		`{"hedge": {"after": "1s", "max": 0}}`:                                 "guards[0].hedge.max: 0 is not in 1 … 10",
		`{"fallback": {}}`:                                                     "guards[0].fallback.value: give exactly one of a value, a function, a cache",
		`{"fallback": {"value": 1, "status": 200}}`:                            "guards[0].fallback: give either value, or status and body",
		`{"fallback": {"status": 99}}`:                                         "guards[0].fallback.status: 99 is not in 100 … 599",
		`{"fallback": {"function": "f"}}`:                                      `guards[0].fallback.function: "f" is not a function`,
		`{"fallback": {"value": 1, "on": []}}`:                                 "guards[0].fallback.on: wants one failure at least",
		`{"retry": {"budget": {}}}`:                                            "guards[0].retry.budget.kind: is missing",
		`{"retry": {"budget": {"kind": "windw"}}}`:                             `guards[0].retry.budget.kind: "windw" is none of window, tokens, quota, concurrency`,
		`{"retry": {"budget": {"kind": "tokens", "ttl": "1s"}}}`:               "guards[0].retry.budget.ttl: unknown key; known are: kind, name, max, ratio",
		`{"retry": {"budget": {"kind": "window", "ratio": -1, "ttl": "1ms"}}}`: "guards[0].retry.budget.ratio: -1 is not in 0 … 1000",
	} {
		_, err := decode(t, `{"name": "p", "guards": [`+body+`]}`)
		assert.ErrorContains(t, err, fault, body)
	}
}

func TestOneErrorNamesEveryFaultWithItsPath(t *testing.T) {
	_, err := decode(t, `{"name": 7, "scope": "all", "limit": 1, "guards": [
		{"retry": {"maxAttempts": 2.5, "backoff": {"multiplier": 0.5}, "jitter": "ful", "backof": {}, "retryOn": ["ok"]}},
		{"timeout": "fast"},
		{"breaker": {"window": {"calls": 5, "time": "10s"}, "failureRate": 3}},
		{"bulkhead": {}},
		{"retri": {}},
		{"retry": {}, "timeout": 5},
		"timeout"
	]}`)
	var invalid *catalog.InvalidError
	require.ErrorAs(t, err, &invalid)
	assert.Equal(t, []string{
		`limit: unknown key; known are: name, scope, guards`,
		`name: 7 is not a text`,
		`scope: "all" is none of instance, vu`,
		`guards[0].retry.backof: unknown key; known are: maxAttempts, backoff, jitter, retryOn, retryAfter, budget`,
		`guards[0].retry.maxAttempts: 2.5 is not a whole number`,
		`guards[0].retry.retryOn[0]: "ok" is none of timeout, connect, reset, 4xx, 429, 5xx, cancelled, throw, breaker_open, bulkhead_full, rate_limited, throttled`,
		`guards[0].retry.jitter: "ful" is none of none, full, equal, decorrelated, {factor: f}, {add: f}`,
		`guards[0].retry.backoff.multiplier: 0.5 is not in 1 … 1000`,
		`guards[1].timeout: "fast" is no duration, such as 260ms, 1.5s or PT1S`,
		`guards[2].breaker.window: give exactly one of calls, time, consecutive`,
		`guards[2].breaker.failureRate: 3 is not in (0, 1]`,
		`guards[3].bulkhead.maxConcurrent: is missing`,
		`guards[4].retri: is no guard; guards are: fallback, retry, timeout, breaker, bulkhead, rateLimit, hedge, throttle`,
		`guards[5]: is not one guard, such as {timeout: 260ms}; guards are: fallback, retry, timeout, breaker, bulkhead, rateLimit, hedge, throttle`,
		`guards[6]: is not one guard, such as {timeout: 260ms}; guards are: fallback, retry, timeout, breaker, bulkhead, rateLimit, hedge, throttle`,
	}, invalid.Faults)
}

func TestParseRefusesWhatIsNoPolicyFile(t *testing.T) {
	for text, fault := range map[string]string{
		"":                                    "p.yaml: holds no policy",
		"name: x":                             "p.yaml: is not a list of policies",
		"- name: [":                           "p.yaml: line 1: did not find expected",
		"- {guards: []}":                      "p.yaml: [0].name: is missing",
		"- {name: ''}":                        "p.yaml: [0].name: is empty",
		"- {name: a}\n- {name: a}":            `p.yaml: [1].name: "a" stands here twice`,
		"- {name: a, name: b}":                `p.yaml: [0]: `,
		"- {name: a, guards: [{timeout: 0}]}": "p.yaml: [0].guards[0].timeout.duration: 0s is not above 0",
	} {
		_, err := catalog.Parse("p.yaml", []byte(text))
		assert.ErrorContains(t, err, fault, text)
	}
}

func TestNameOfABudgetStandsForTheSameSettingsInAFile(t *testing.T) {
	file := func(capacity string) string {
		return "- {name: a, guards: [{retry: {budget: {kind: quota, name: all, capacity: 5}}}]}\n" +
			"- {name: b, guards: [{timeout: 1s}, {hedge: {after: 1s, budget: {kind: quota, name: all, capacity: " + capacity + "}}}]}"
	}
	_, err := catalog.Parse("p.yaml", []byte(file("5")))
	require.NoError(t, err)
	_, err = catalog.Parse("p.yaml", []byte(file("50")))
	assert.EqualError(t, err, `p.yaml: [1].guards[1].hedge.budget: budget "all" is in use with other settings`)
}

func TestWithReplacesByName(t *testing.T) {
	mine, err := catalog.Parse("mine", []byte("- {name: jitter}\n- {name: other}"))
	require.NoError(t, err)
	both := catalog.Builtin().With(mine)
	e, err := both.Lookup("jitter")
	require.NoError(t, err)
	assert.Empty(t, e.Config.Guards)
	assert.Len(t, both.Names(), len(catalog.Builtin().Names())+1)
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"260ms": 260 * ms, "1.5s": 1500 * ms, "PT1S": time.Second, "pt0.5s": 500 * ms, "PT1M30S": 90 * time.Second, "PT2H": 2 * time.Hour, "-1s": -time.Second,
	} {
		got, err := catalog.ParseDuration(text)
		assert.NoError(t, err)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "260", "PT", "PT5", "P1D", "PT1ms", "PT-1S", "1 s"} {
		_, err := catalog.ParseDuration(text)
		assert.Error(t, err, text)
	}
}

// What a policy file says is either refused or makes a policy that runs.
func FuzzParse(f *testing.F) {
	f.Add([]byte("- {name: a, guards: [{retry: {jitter: full}}, {timeout: 1s}]}"))
	f.Add([]byte("- {name: a, guards: [{breaker: {window: {time: 1s}, openFor: {initial: 1}}}, {bulkhead: {maxConcurrent: 1}}]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := catalog.Parse("fuzz", data)
		if err != nil {
			return
		}
		for _, e := range c.Entries() {
			if _, err := resilience.New(e.Config); err != nil {
				t.Fatalf("parsed, but cannot be made: %v", err)
			}
		}
	})
}
