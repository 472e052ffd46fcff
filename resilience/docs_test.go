package resilience_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrylab/retrylab/resilience"
	"github.com/retrylab/retrylab/resilience/backoff"
	"github.com/retrylab/retrylab/resilience/catalog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "write the computed tables of docs/policies.md")

const policiesPage = "../docs/policies.md"

// What docs/policies.md says between "<!-- computed: NAME -->" and
// "<!-- end -->" is what the code does.
func TestComputedPartsOfTheDocument(t *testing.T) {
	page, err := os.ReadFile(policiesPage)
	require.NoError(t, err)
	text := string(page)
	computed := map[string]string{
		"waits": waitsTable(), "blog": blogTable(), "budgets": budgetsTable(t), "orders": ordersTable(t), "faults": faultsText(t, text),
	}
	marks := regexp.MustCompile(`(?s)<!-- computed: (\w+) -->\n(.*?)\n<!-- end -->`)
	found := marks.FindAllStringSubmatch(text, -1)
	assert.Len(t, found, len(computed))
	for _, part := range found {
		want, ok := computed[part[1]]
		require.True(t, ok, "nobody computes %q", part[1])
		if *update {
			text = strings.Replace(text, part[0], fmt.Sprintf("<!-- computed: %s -->\n%s\n<!-- end -->", part[1], want), 1)
			continue
		}
		assert.Equal(t, want, part[2], "%s; go test ./resilience -update writes it", part[1])
	}
	if *update {
		require.NoError(t, os.WriteFile(policiesPage, []byte(text), 0o644))
	}
}

// between are the least and the greatest wait before the k-th retry, after the
// same before it.
func between(s backoff.Schedule, k int, before [2]time.Duration) [2]time.Duration {
	const almostOne = 1 - 1.0/(1<<53)
	return [2]time.Duration{s.Delay(k, before[0], 0), s.Delay(k, before[1], almostOne).Round(time.Microsecond)}
}

func seconds(d time.Duration) string { return fmt.Sprint(math.Round(d.Seconds()*1e4) / 1e4) }

func span(r [2]time.Duration) string {
	if r[0] == r[1] {
		return seconds(r[0])
	}
	return seconds(r[0]) + "–" + seconds(r[1])
}

func waitsTable() string {
	lines := []string{"| jitter | 1st | 2nd | 3rd | 4th | 5th | 6th | together |", "|---|---|---|---|---|---|---|---|"}
	for _, j := range []struct {
		name     string
		jitter   backoff.Jitter
		fraction float64
	}{
		{"`none`", backoff.None, 0}, {"`full`", backoff.Full, 0}, {"`equal`", backoff.Equal, 0}, {"`decorrelated`", backoff.Decorrelated, 0},
		{"`{factor: 0.5}`", backoff.Factor, 0.5}, {"`{add: 0.2}`", backoff.Add, 0.2},
	} {
		s := backoff.Schedule{Initial: 100 * ms, Multiplier: 2, Max: 10 * time.Second, Jitter: j.jitter, Fraction: j.fraction}
		line := "| " + j.name
		var wait, sum [2]time.Duration
		for k := 1; k <= 6; k++ {
			wait = between(s, k, wait)
			sum[0], sum[1] = sum[0]+wait[0], sum[1]+wait[1]
			line += " | " + span(wait)
		}
		lines = append(lines, line+" | "+span(sum)+" |")
	}
	return strings.Join(lines, "\n")
}

func blogTable() string {
	lines := []string{"| retry | wait | with ±20 % |", "|---|---|---|"}
	s := backoff.Schedule{Initial: time.Second, Multiplier: 2, Max: 30 * time.Second}
	for k := 1; k <= 4; k++ {
		s.Jitter, s.Fraction = backoff.None, 0
		wait := s.Delay(k, 0, 0)
		s.Jitter, s.Fraction = backoff.Factor, 0.2
		lines = append(lines, fmt.Sprintf("| %d | %s s | %s s |", k, seconds(wait), span(between(s, k, [2]time.Duration{}))))
	}
	return strings.Join(lines, "\n")
}

// build makes a policy of the guards in a YAML list.
func build(t *testing.T, guards string) *resilience.Policy {
	t.Helper()
	c, err := catalog.Parse("docs", []byte("[{name: docs, guards: ["+guards+"]}]"))
	require.NoError(t, err)
	p, err := resilience.New(c.Entries()[0].Config, resilience.WithRandom(func() float64 { return 0.5 }))
	require.NoError(t, err)
	return p
}

// takes is a call that takes some time and then comes to an outcome.
func lasting(d time.Duration, o resilience.Outcome) resilience.Call {
	return func(ctx context.Context, _ resilience.Attempt) resilience.Result {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return resilience.Result{Outcome: o}
		case <-ctx.Done():
			return resilience.Result{Outcome: resilience.Cancelled}
		}
	}
}

// budgetsTable runs a minute of 100 requests a second, of which every call
// fails after half a second, through each budget. No two things happen at the
// same instant, so that the figures do not depend on which goroutine is first.
func budgetsTable(t *testing.T) string {
	const rate, length = 100, 60
	const requests = rate * length
	lines := []string{
		"| budget | retries at most | measured | calls a request at most | measured |", "|---|---|---|---|---|",
	}
	for _, c := range []struct {
		name, budget string
		retries      float64
		outcome      resilience.Outcome
	}{
		{"none", "", 2 * requests, resilience.HTTP5xx},
		{"`window`", ", budget: {kind: window}", 0.2*requests + 10*10*math.Ceil((length+0.5)/10), resilience.HTTP5xx},
		{"`window`, `minPerSecond: 0`", ", budget: {kind: window, minPerSecond: 0}", 0.2 * requests, resilience.HTTP5xx},
		{"`tokens`", ", budget: {kind: tokens}", math.Ceil(10/2) - 1, resilience.HTTP5xx},
		{"`quota`", ", budget: {kind: quota}", 500 / 5, resilience.HTTP5xx},
		{"`quota`, every call times out", ", budget: {kind: quota}", 500 / 10, resilience.Timeout},
		{"`concurrency`", ", budget: {kind: concurrency}", requests * (1/(1-0.2) - 1), resilience.HTTP5xx},
	} {
		var calls atomic.Int64
		synctest.Test(t, func(t *testing.T) {
			p := build(t, "{retry: {maxAttempts: 3"+c.budget+"}}")
			var wg sync.WaitGroup
			for range requests {
				time.Sleep(time.Second / rate)
				wg.Go(func() {
					calls.Add(int64(p.Do(t.Context(), resilience.Request{Call: lasting(503*ms, c.outcome)}).Calls))
				})
			}
			wg.Wait()
		})
		retries := float64(calls.Load() - requests)
		assert.LessOrEqual(t, retries, c.retries, c.name)
		lines = append(lines, fmt.Sprintf("| %s | %.0f | %.0f | %.3f | %.3f |", c.name, c.retries, retries, 1+c.retries/requests, 1+retries/requests))
	}
	return strings.Join(lines, "\n")
}

// load is how the requests of an example come, and what their calls come to.
type load struct {
	requests int
	every    time.Duration // 0: one after the other; else such that nothing else happens at the same instant
	takes    time.Duration
	outcome  resilience.Outcome
}

func ordersTable(t *testing.T) string {
	lines := []string{"| policy, outermost first | calls | refused | degraded | failed | longest request |", "|---|---|---|---|---|---|"}
	const retry = "{retry: {maxAttempts: 3, backoff: {initial: 75ms}}}"
	sick := load{requests: 10, takes: 100 * ms, outcome: resilience.HTTP5xx}
	for _, c := range []struct {
		name, guards string
		load         load
	}{
		{"A1. retry, breaker of 6 in a row", retry + ", {breaker: {window: {consecutive: 6}}}", sick},
		{"A2. breaker of 6 in a row, retry", "{breaker: {window: {consecutive: 6}}}, " + retry, sick},
		{"B1. retry, timeout 80 ms", retry + ", {timeout: 80ms}", load{1, 0, 100 * ms, resilience.OK}},
		{"B2. timeout 80 ms, retry", "{timeout: 80ms}, " + retry, load{1, 0, 100 * ms, resilience.OK}},
		{"B3. timeout 300 ms, retry, timeout 80 ms", "{timeout: 300ms}, " + retry + ", {timeout: 80ms}", load{1, 0, 100 * ms, resilience.OK}},
		{"C1. retry, bulkhead 6", retry + ", {bulkhead: {maxConcurrent: 6}}", load{20, 53 * ms, 100 * ms, resilience.HTTP5xx}},
		{"C2. bulkhead 6, retry", "{bulkhead: {maxConcurrent: 6}}, " + retry, load{20, 53 * ms, 100 * ms, resilience.HTTP5xx}},
		{"D1. fallback, retry", "{fallback: {value: 0}}, " + retry, sick},
		{"D2. retry, fallback", retry + ", {fallback: {value: 0}}", sick},
		{"E1. timeout 160 ms, hedge after 80 ms", "{timeout: 160ms}, {hedge: {after: 80ms}}", load{1, 0, 150 * ms, resilience.HTTP5xx}},
		{"E2. hedge after 80 ms, timeout 160 ms", "{hedge: {after: 80ms}}, {timeout: 160ms}", load{1, 0, 150 * ms, resilience.HTTP5xx}},
		{"E3. retry, hedge after 80 ms", retry + ", {hedge: {after: 80ms}}", load{1, 0, 100 * ms, resilience.HTTP5xx}},
		{"E4. hedge after 80 ms, retry", "{hedge: {after: 80ms}}, " + retry, load{1, 0, 100 * ms, resilience.HTTP5xx}},
		{"F1. retry, throttle", retry + ", {throttle: {}}", sick},
		{"F2. throttle, retry", "{throttle: {}}, " + retry, sick},
	} {
		var calls int
		ends := make(map[resilience.End]int)
		var longest time.Duration
		synctest.Test(t, func(t *testing.T) {
			p := build(t, c.guards)
			var mu sync.Mutex
			var wg sync.WaitGroup
			for range c.load.requests {
				do := func() {
					report := p.Do(t.Context(), resilience.Request{Call: lasting(c.load.takes, c.load.outcome)})
					mu.Lock()
					defer mu.Unlock()
					calls += report.Calls
					ends[report.End]++
					longest = max(longest, report.Duration)
				}
				if c.load.every == 0 {
					do()
					continue
				}
				wg.Go(do)
				time.Sleep(c.load.every)
			}
			wg.Wait()
		})
		lines = append(lines, fmt.Sprintf("| %s | %d | %d | %d | %d | %d ms |", c.name, calls,
			ends[resilience.RejectedByGuard], ends[resilience.Degraded], ends[resilience.Failed], longest.Milliseconds()))
	}
	return strings.Join(lines, "\n")
}

// fences are the fenced blocks of a page in a language.
func fences(page, language string) []string {
	var blocks []string
	for _, m := range regexp.MustCompile("(?sm)^```"+language+"\n(.*?)^```").FindAllStringSubmatch(page, -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

const faulty = "# broken.yaml\n"

func faultsText(t *testing.T, page string) string {
	for _, block := range fences(page, "yaml") {
		if strings.HasPrefix(block, faulty) {
			_, err := catalog.Parse("broken.yaml", []byte(block))
			require.Error(t, err)
			return "```text\n" + err.Error() + "\n```"
		}
	}
	t.Fatal("the page shows no faulty file")
	return ""
}

func TestExamplesOfTheDocumentAreValid(t *testing.T) {
	page, err := os.ReadFile(policiesPage)
	require.NoError(t, err)
	blocks := append(fences(string(page), "yaml"), fences(string(page), "json")...)
	require.Greater(t, len(blocks), 8)
	for _, block := range blocks {
		if strings.HasPrefix(block, faulty) {
			continue
		}
		if strings.HasPrefix(block, "guards:") { // a part of a policy
			block = "- name: part\n  " + strings.ReplaceAll(block, "\n", "\n  ")
		}
		_, err := catalog.Parse("block", []byte(block))
		assert.NoError(t, err, block)
	}
}

func TestDocumentNamesEveryNamedPolicy(t *testing.T) {
	page, err := os.ReadFile(policiesPage)
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(page), "\n## Named policies\n") // the last one
	require.True(t, ok)
	var names []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(section, -1) {
		names = append(names, m[1])
	}
	assert.Equal(t, catalog.Builtin().Names(), names)
}

var keyRow = regexp.MustCompile("(?m)^\\| `([A-Za-z.]+)` \\| [^|]+ \\| (?:`([^`|]+)`[^|]*|[^|]*) \\|")

// The tables of keys name every key that is read, and no other, and the
// defaults in them are what an absent key means.
func TestTablesOfKeysAreWhatIsRead(t *testing.T) {
	page, err := os.ReadFile(policiesPage)
	require.NoError(t, err)
	for _, c := range []struct {
		section, kind string
		at            string   // the object in the guard that the section is of
		needs         string   // the smallest such object
		nested        []string // objects in it
	}{
		{"retry", "retry", "", "{}", []string{"backoff", "retryAfter"}},
		{"breaker", "breaker", "", "{}", []string{"window", "slowCall", "openFor", "halfOpen"}},
		{"bulkhead", "bulkhead", "", "{maxConcurrent: 1}", nil},
		{"rateLimit", "rateLimit", "", "{permits: 1, per: 1s}", nil},
		{"hedge", "hedge", "", "{after: 1s}", []string{"after"}},
		{"throttle", "throttle", "", "{}", nil},
		{"fallback", "fallback", "", "{value: 1}", []string{"cache"}},
		{"budget: window", "retry", "budget", "{kind: window}", nil},
		{"budget: tokens", "retry", "budget", "{kind: tokens}", nil},
		{"budget: quota", "retry", "budget", "{kind: quota}", nil},
		{"budget: concurrency", "retry", "budget", "{kind: concurrency}", nil},
	} {
		_, section, ok := strings.Cut(string(page), "\n### "+c.section+"\n")
		if !assert.True(t, ok, "no section on %s", c.section) {
			continue
		}
		section, _, _ = strings.Cut(section, "\n#")
		decode := func(object map[string]any) (resilience.Config, error) {
			body := object
			if c.at != "" {
				body = map[string]any{c.at: object}
			}
			return catalog.Decode(map[string]any{"name": "p", "guards": []any{map[string]any{c.kind: body}}})
		}
		object := func() map[string]any {
			var o map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(c.needs), &o))
			return o
		}
		known := func(path string) []string {
			o := object()
			if path == "" {
				o["?"] = 1
			} else {
				o[path] = map[string]any{"?": 1}
			}
			_, err := decode(o)
			require.ErrorContains(t, err, "known are: ", "%s %s", c.section, path)
			_, list, _ := strings.Cut(err.Error(), "known are: ")
			list, _, _ = strings.Cut(list, "\n")
			return strings.Split(list, ", ")
		}
		var want []string
		for _, key := range known("") {
			if !slices.Contains(c.nested, key) {
				want = append(want, key)
			}
		}
		for _, path := range c.nested {
			for _, key := range known(path) {
				want = append(want, path+"."+key)
			}
		}
		var got []string
		full := object()
		for _, row := range keyRow.FindAllStringSubmatch(section, -1) {
			key, value := row[1], row[2]
			got = append(got, key)
			if value == "" || value == "–" {
				continue
			}
			var v any
			require.NoError(t, yaml.Unmarshal([]byte(value), &v), "%s: %s", key, value)
			o := full
			outer, inner, nested := strings.Cut(key, ".")
			if nested {
				if _, ok := o[outer].(map[string]any); !ok {
					o[outer] = map[string]any{}
				}
				o, outer = o[outer].(map[string]any), inner
			}
			o[outer] = v
		}
		// Those that are either an object or a scalar stand there as both.
		got = slices.DeleteFunc(got, func(key string) bool { return slices.Contains(c.nested, key) })
		assert.ElementsMatch(t, want, got, c.section)
		short, err := decode(object())
		require.NoError(t, err, c.section)
		long, err := decode(full)
		if assert.NoError(t, err, "%s: %v", c.section, full) {
			assert.Equal(t, short, long, "%s: the defaults", c.section)
		}
	}
}
