package runner_test

import (
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/jsmodule"
	"github.com/retrylab/retrylab/resilience/catalog"
	"github.com/retrylab/retrylab/runner"
	"github.com/retrylab/retrylab/runner/internal/scripttest"
	"github.com/retrylab/retrylab/scripts"
	"github.com/retrylab/retrylab/service"
)

// from makes a script of a file system the one to be run.
func from(files fs.FS, script string) func(*runner.Config) {
	return func(c *runner.Config) { c.FS, c.Script = files, script }
}

// TestResilienceOnTheRunner runs the module's own cases, which also run on a
// host without any runner: see jsmodule.
func TestResilienceOnTheRunner(t *testing.T) {
	files := os.DirFS("../jsmodule/testdata")
	names, err := fs.Glob(files, "*.js")
	require.NoError(t, err)
	passed := 0
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			out := scripttest.Run(t, "", from(files, name))
			require.NoError(t, out.Err)
			assert.Zero(t, out.Result.Threw, "%s", out.Console)
			require.NotEmpty(t, out.Console)
			var n, all int
			_, err := fmt.Sscanf(out.Console[len(out.Console)-1], strings.TrimSuffix(name, ".js")+": %d of %d passed", &n, &all)
			require.NoError(t, err)
			assert.Equal(t, all, n)
			passed += n
		})
	}
	assert.GreaterOrEqual(t, passed, 60)
	t.Logf("%d cases passed", passed)
}

// quick is the policy payments in a hurry.
const quick = `
- name: payments
  guards:
    - fallback: {value: queued, on: [breaker_open]}
    - breaker: {window: {consecutive: 3}, openFor: 5s}
    - retry: {maxAttempts: 3, backoff: {initial: 5ms, multiplier: 2}, jitter: {add: 0.2}}
    - timeout: 300ms
`

func TestEveryScenarioScriptRuns(t *testing.T) {
	names, err := fs.Glob(scripts.FS, "*.js")
	require.NoError(t, err)
	require.Greater(t, len(names), 7)
	caller := service.New(service.Config{})
	server := httptest.NewServer(caller)
	t.Cleanup(func() {
		server.Close()
		assert.NoError(t, caller.Close(t.Context()))
	})
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := scripttest.Run(t, "", from(scripts.FS, name), func(c *runner.Config) {
				if name == "payments.js" {
					return // it says itself how long it is
				}
				two, four := 2, int64(4)
				c.Overrides.VUs, c.Overrides.Iterations = &two, &four
				if name == "service.js" {
					c.Env = map[string]string{"BASE_URL": server.URL}
				}
			}, withPolicies(t, quick))
			require.NoError(t, out.Err)
			assert.Zero(t, out.Result.Threw, "%s", out.Log)
			assert.Positive(t, out.Result.Iterations)
			if name != "service.js" {
				assert.Equal(t, value(out, "resilience_downstream_calls", "count"), value(out, "downstream_calls", "count"), "the server counts what the caller does")
			}
		})
	}
}

// withPolicies puts policies over the built-in ones of the same names.
func withPolicies(t *testing.T, text string) func(*runner.Config) {
	t.Helper()
	own, err := catalog.Parse("test", []byte(text))
	require.NoError(t, err)
	return func(c *runner.Config) { c.Resilience = jsmodule.New(catalog.Builtin().With(own)) }
}

func TestPaymentsEndInOneOfThreeWays(t *testing.T) {
	for seed, want := range map[string][]string{
		"1": {"ORD-001: TXN-ORD-001-OK", "ORD-002: TXN-ORD-002-OK", "ORD-003: TXN-ORD-003-OK", "ORD-004: TXN-ORD-004-OK", "ORD-005: TXN-ORD-005-OK"},
		"149": {
			"ORD-001: TXN-ORD-001-OK", "ORD-002: TimeoutError: timed out after 300ms", "ORD-003: TimeoutError: timed out after 300ms",
			"ORD-004: TimeoutError: timed out after 300ms", "ORD-005: PENDING-ORD-005",
		},
	} {
		t.Run("seed "+seed, func(t *testing.T) {
			t.Parallel()
			out := scripttest.Run(t, "", from(scripts.FS, "payments.js"), withPolicies(t, quick), func(c *runner.Config) {
				c.Env = map[string]string{"SEED": seed}
			})
			require.NoError(t, out.Err)
			assert.Equal(t, want, out.Console)
			retries := 0
			for _, line := range out.Log {
				if strings.HasPrefix(line, "retry ") {
					assert.Regexp(t, `^retry [12] in \d+ms: timed out after 300ms$`, line)
					retries++
				}
			}
			assert.Equal(t, value(out, "resilience_retries", "count"), float64(retries))
			assert.Equal(t, seed == "149", strings.Contains(strings.Join(out.Log, "\n"), "breaker: closed -> open"))
		})
	}
}

// An iteration whose promises never settle ends with its run.
func TestPendingRequestsEndWithTheRun(t *testing.T) {
	out := scripttest.Run(t, `import { Policy } from 'k6/x/resilience';
		export const options = { scenarios: { s: { executor: 'constant-vus', vus: 3, duration: '1s', gracefulStop: '0s' } } };
		const waiting = new Policy({ name: 'w', guards: [{ retry: { backoff: { initial: '10s' } } }] });
		const endless = new Policy({ name: 'e', guards: [] });
		export default async function () {
			await Promise.all([waiting.executeAsync(async () => { throw 1; }), endless.executeAsync(() => new Promise(() => {}))]);
		}`)
	require.NoError(t, out.Err)
	assert.EqualValues(t, 3, out.Result.Interrupted)
	assert.Equal(t, 6.0, value(out, "resilience_attempts", "count"))
}

func TestAsyncRequestsHaveTheTagsOfTheirGroup(t *testing.T) {
	out := scripttest.Run(t, `import { group } from 'k6'; import { Policy } from 'k6/x/resilience';
		export const options = { thresholds: { 'resilience_requests{group:::pay}': ['count==1'], 'resilience_requests{step:one,policy:p}': ['count==1'] } };
		const p = new Policy({ name: 'p', guards: [{ retry: { backoff: { initial: 5 } } }] });
		export default function () {
			group('pay', () => { p.executeAsync(async () => { throw 1; }, { tags: { step: 'one' } }); });
		}`)
	require.NoError(t, out.Err)
	assert.Empty(t, out.Result.UnseenThresholds)
}

// Once the end of the scenario was told to the server as the caller's deadline.
func TestEndOfAScenarioIsNoDeadlineOfARequest(t *testing.T) {
	told := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		told <- r.Header.Get("X-Envoy-Expected-Rq-Timeout-Ms")
	}))
	defer server.Close()
	out := scripttest.Run(t, `import { Policy } from 'k6/x/resilience';
		export const options = { scenarios: { s: { executor: 'per-vu-iterations', maxDuration: '1m' } } };
		const bare = new Policy({ name: 'bare', guards: [] });
		const timed = new Policy({ name: 'timed', guards: [{ timeout: '2s' }] });
		export function setup() { bare.get(__ENV.BASE_URL); }
		export default async function () {
			bare.get(__ENV.BASE_URL);
			timed.get(__ENV.BASE_URL);
			console.log(bare.execute((attempt) => 'timeoutMs' in attempt).result);
			console.log((await bare.executeAsync(async (attempt) => 'timeoutMs' in attempt)).result);
			console.log(timed.execute((attempt) => attempt.timeoutMs).result);
		}`, func(c *runner.Config) { c.Env = map[string]string{"BASE_URL": server.URL} })
	require.NoError(t, out.Err)
	close(told)
	var all []string
	for text := range told {
		all = append(all, text)
	}
	assert.Equal(t, []string{"", "", "2000"}, all, "of setup, and of the two requests")
	assert.Equal(t, []string{"false", "false", "2000"}, out.Console)
}

// Once a retry whose wait ended after the scenario was dropped at once, so that
// the last seconds of a run had no retries.
func TestWaitBeyondTheEndOfAScenarioLastsUntilThen(t *testing.T) {
	for name, call := range map[string]string{
		"execute":      `waiting.execute(() => { throw 1; });`,
		"executeAsync": `await waiting.executeAsync(async () => { throw 1; });`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := scripttest.Run(t, `import { Policy } from 'k6/x/resilience';
				export const options = { scenarios: { s: { executor: 'constant-vus', vus: 2, duration: '1s', gracefulStop: '0s' } } };
				const waiting = new Policy({ name: 'w', guards: [{ retry: { backoff: { initial: '10s' } } }] });
				export default async function () { `+call+` }`)
			require.NoError(t, out.Err)
			assert.EqualValues(t, 2, out.Result.Interrupted)
			assert.Zero(t, out.Result.Iterations)
			assert.Equal(t, 2.0, value(out, "resilience_attempts", "count"))
		})
	}
}

// A virtual user has one pool of connections, whoever makes its calls.
func TestPoliciesAndRequestsShareConnections(t *testing.T) {
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	out := scripttest.Run(t, `import http from 'k6/http'; import { Policy } from 'k6/x/resilience';
		export const options = { iterations: 5 };
		const p = new Policy({ name: 'p', guards: [] });
		export default function () { http.get(__ENV.U); p.get(__ENV.U); p.post(__ENV.U, 'body'); http.post(__ENV.U, 'body'); }`,
		func(c *runner.Config) { c.Env = map[string]string{"U": server.URL} })
	require.NoError(t, out.Err)
	assert.EqualValues(t, 1, connections.Load())
}
