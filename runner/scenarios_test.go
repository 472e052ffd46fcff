package runner_test

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/runner"
	"github.com/retrylab/retrylab/runner/executor"
	"github.com/retrylab/retrylab/runner/internal/scripttest"
)

func TestScenariosRunTheirOwnFunctionsWithTheirOwnEnvAndTags(t *testing.T) {
	out := scripttest.Run(t, `
import exec from 'k6/execution';
import { Counter } from 'k6/metrics';
const seen = new Counter('seen');
export const options = {
  scenarios: {
    reads: { executor: 'per-vu-iterations', vus: 2, iterations: 3, exec: 'read', env: { WHO: 'r', BASE: 'over' }, tags: { kind: 'read' } },
    writes: { executor: 'shared-iterations', vus: 1, iterations: 4, exec: 'write', startTime: '200ms' },
  },
  thresholds: { 'seen{scenario:reads}': ['count==6'], 'seen{kind:read}': ['count==6'], 'seen{scenario:writes}': ['count==4'] },
};
export function read() { seen.add(1); console.log('read', __ENV.WHO, __ENV.BASE, __ENV.ONLY, exec.scenario.name, exec.scenario.executor); }
export async function write() { seen.add(1); console.log('write', __ENV.WHO, __ENV.BASE, __ENV.ONLY, exec.scenario.name, exec.scenario.executor); }
`, func(c *runner.Config) { c.Env = map[string]string{"BASE": "base", "ONLY": "one"} })
	require.NoError(t, out.Err)
	want := slices.Repeat([]string{"read r over one reads per-vu-iterations"}, 6)
	want = append(want, slices.Repeat([]string{"write undefined base one writes shared-iterations"}, 4)...)
	assert.Equal(t, want, out.Console)
	assert.Equal(t, 10.0, value(out, "iterations", "count"))
}

func TestVirtualUsersAreSharedByScenariosThatDoNotOverlap(t *testing.T) {
	out := scripttest.Run(t, `
import exec from 'k6/execution';
export const options = { scenarios: {
  a: { executor: 'per-vu-iterations', vus: 2, iterations: 2, maxDuration: '1s', gracefulStop: '0s' },
  b: { executor: 'per-vu-iterations', vus: 2, iterations: 2, startTime: '1s' },
} };
export default function () { console.log(exec.scenario.name, exec.vu.idInInstance <= 2, exec.vu.iterationInInstance >= exec.vu.iterationInScenario, exec.vu.iterationInScenario, exec.instance.vusInitialized); }
`)
	require.NoError(t, out.Err)
	sort.Strings(out.Console)
	assert.Equal(t, []string{
		"a true true 0 2", "a true true 0 2", "a true true 1 2", "a true true 1 2",
		"b true true 0 2", "b true true 0 2", "b true true 1 2", "b true true 1 2",
	}, out.Console)
}

func TestDroppedIterationsAreSampled(t *testing.T) {
	out := scripttest.Run(t, `
import { sleep } from 'k6';
export const options = { scenarios: { a: { executor: 'constant-arrival-rate', rate: 20, duration: '1s', preAllocatedVUs: 1, gracefulStop: '5s' } },
  thresholds: { 'dropped_iterations{scenario:a}': ['count>0'] } };
export default function () { sleep(1.2); }
`)
	require.NoError(t, out.Err)
	assert.Equal(t, 19.0, value(out, "dropped_iterations", "count"))
	assert.Equal(t, 1.0, value(out, "iterations", "count"))
	assert.Contains(t, strings.Join(out.Log, "\n"), "all 1 virtual users are busy")
	assert.EqualValues(t, 1, out.Result.Lateness["a"].Starts)
}

func TestIterationsTakeAtLeastTheirMinimum(t *testing.T) {
	out := scripttest.Run(t, `export const options = { vus: 1, iterations: 3, minIterationDuration: '100ms' };
export default function () {}`)
	require.NoError(t, out.Err)
	assert.GreaterOrEqual(t, out.Result.Duration.Seconds(), 0.3)
	assert.Less(t, value(out, "iteration_duration", "max"), 100.0, "the rest is no part of the iteration")
}

// Four segments run, one after the other, as many iterations as the whole, and
// number them and their virtual users as one run.
func TestSegmentsAddUpToTheWhole(t *testing.T) {
	const src = `
import exec from 'k6/execution';
export const options = { scenarios: {
  shared: { executor: 'shared-iterations', vus: 5, iterations: 23 },
  each: { executor: 'per-vu-iterations', vus: 6, iterations: 2 },
  rate: { executor: 'constant-arrival-rate', rate: 37, duration: '1s', preAllocatedVUs: 8, maxVUs: 8 },
} };
export default function () { console.log(exec.scenario.name, exec.scenario.iterationInTest, exec.vu.idInTest); }`
	for _, segments := range [][]string{{""}, {"0:1/4", "1/4:1/2", "1/2:3/4", "3/4:1"}, {"0:10%", "10%:1"}} {
		iterations, users := map[string]bool{}, map[string]string{}
		total := 0.0
		for _, text := range segments {
			out := scripttest.Run(t, src, func(c *runner.Config) {
				s, err := executor.ParseSegment(text)
				require.NoError(t, err)
				c.Overrides.ExecutionSegment = &s
			})
			require.NoError(t, out.Err, text)
			total += max(value(out, "iterations", "count"), 0) + max(value(out, "dropped_iterations", "count"), 0)
			for _, line := range out.Console {
				var name string
				var iteration, user int
				_, err := fmt.Sscan(line, &name, &iteration, &user)
				require.NoError(t, err)
				assert.False(t, iterations[fmt.Sprint(name, iteration)], "%s has %s %d twice", segments, name, iteration)
				iterations[fmt.Sprint(name, iteration)] = true
				assert.Contains(t, []string{"", text + "!"}, users[fmt.Sprint(user)], "user %d is in two segments", user)
				users[fmt.Sprint(user)] = text + "!"
			}
		}
		assert.Equal(t, 23.0+12+37, total, "%s", segments)
	}
}

func TestOneSeedRepeatsItselfAndTwoDiffer(t *testing.T) {
	seen := map[uint64][]string{}
	for _, seed := range []uint64{1, 1, 2} {
		out := scripttest.Run(t, `export const options = { scenarios: { a: { executor: 'per-vu-iterations', vus: 2, iterations: 2 } } };
export default function () { console.log(__VU, Math.random()); }`, func(c *runner.Config) { c.Seed = &seed })
		require.NoError(t, out.Err)
		assert.Equal(t, seed, out.Result.Seed)
		sort.Strings(out.Console)
		require.Len(t, out.Console, 4)
		if before := seen[seed]; before != nil {
			assert.Equal(t, before, out.Console)
		}
		seen[seed] = out.Console
	}
	assert.NotEqual(t, seen[1], seen[2])
}

func TestArrivalsMayBeThoseOfAPoissonProcess(t *testing.T) {
	counts := map[uint64]float64{}
	const rate = 400
	for _, seed := range []uint64{1, 1, 2, 3} {
		out := scripttest.Run(t, fmt.Sprintf(`export const options = { scenarios: { a: { executor: 'constant-arrival-rate', rate: %d, duration: '1s', preAllocatedVUs: 50 } } };
export default function () {}`, rate), func(c *runner.Config) { c.Seed, c.PoissonArrivals = &seed, true })
		require.NoError(t, out.Err)
		n := value(out, "iterations", "count") + max(value(out, "dropped_iterations", "count"), 0)
		assert.InDelta(t, rate, n, 5*math.Sqrt(rate), "seed %d", seed)
		if before, ok := counts[seed]; ok {
			assert.Equal(t, before, n, "seed %d", seed)
		}
		counts[seed] = n
	}
	assert.NotEqual(t, []float64{rate, rate, rate}, []float64{counts[1], counts[2], counts[3]})
}

func TestExecutionModule(t *testing.T) {
	out := scripttest.Run(t, `
import exec, { vu } from 'k6/execution';
import { Counter } from 'k6/metrics';
const tagged = new Counter('tagged');
for (const part of ['scenario', 'instance', 'vu']) { try { exec[part].name; } catch (e) { console.log(e.message); } }
try { exec.test.options; } catch (e) { console.log(e.message); }
try { exec.test.fail(); } catch (e) { console.log(e.message); }
export const options = { vus: 1, iterations: 2, thresholds: { 'tagged{mine:yes}': ['count==1'], 'tagged{mine:1}': ['count==1'] }, tags: { run: 'r' } };
export function setup() { try { exec.scenario.name; } catch (e) { console.log(e.message); } console.log(exec.instance.vusInitialized, exec.vu.idInTest); }
export default function () {
  console.log(Object.keys(exec), Object.keys(exec.scenario), Object.keys(exec.instance), Object.keys(exec.vu), Object.keys(exec.test));
  console.log(exec.scenario.iterationInInstance, exec.scenario.iterationInTest, exec.scenario.progress, exec.scenario.startTime <= Date.now(),
    exec.instance.iterationsCompleted, exec.instance.vusActive, exec.instance.currentTestRunDuration > 0);
  console.log(exec.test.options.scenarios.default.iterations, exec.test.options.vus, Object.isFrozen(exec.test.options.scenarios));
  if (exec.vu.iterationInInstance === 0) { exec.vu.metrics.tags.mine = 'yes'; } else { console.log('mine' in vu.tags); vu.tags['mine'] = 1; }
  tagged.add(1);
  console.log(JSON.stringify(exec.vu.tags));
  delete exec.vu.tags.mine;
  try { exec.vu.tags.bad = { a: 1 }; } catch (e) { console.log(e.name, e.message); }
}`)
	require.NoError(t, out.Err)
	const keys = `[ "instance", "scenario", "test", "vu" ] [ "executor", "iterationInInstance", "iterationInTest", "name", "progress", "startTime" ] [ "currentTestRunDuration", "iterationsCompleted", "iterationsInterrupted", "vusActive", "vusInitialized" ] [ "idInInstance", "idInTest", "iterationInInstance", "iterationInScenario", "metrics", "tags" ] [ "abort", "fail", "options" ]`
	const bad = `TypeError tag "bad": only text, numbers and booleans can be a tag's value, not {"a":1}`
	init := []string{
		"getting scenario information in the init context is not supported", "getting instance information in the init context is not supported",
		"getting VU information in the init context is not supported", "getting test options in the init context is not supported", "test.fail() does not work in the init context",
	}
	assert.Equal(t, init, out.Console[:5])
	assert.Contains(t, out.Console, "getting scenario information outside of a scenario's iterations is not supported")
	assert.Contains(t, out.Console, "1 0")
	assert.Equal(t, []string{
		keys, "0 0 0 true 0 1 true", "2 undefined true", `{"group":"","mine":"yes","run":"r","scenario":"default"}`, bad,
		keys, "1 1 0.5 true 1 1 true", "2 undefined true", "false", `{"group":"","mine":"1","run":"r","scenario":"default"}`, bad,
	}, out.Console[len(out.Console)-11:])
}

func TestAbortEndsTheRunAndTearsDown(t *testing.T) {
	out := scripttest.Run(t, `
import exec from 'k6/execution';
import { sleep } from 'k6';
export const options = { vus: 3, duration: '1h' };
export default function () { if (exec.vu.idInTest === 2) { exec.test.abort('enough'); console.log('not reached'); } sleep(3600); }
export function teardown() { console.log('torn down'); }`)
	assert.Equal(t, runner.AbortedByScript, runner.KindOf(out.Err), "%v", out.Err)
	assert.ErrorContains(t, out.Err, "test aborted: enough")
	assert.Equal(t, []string{"torn down"}, out.Console)
	assert.EqualValues(t, 1, out.Result.Iterations, "the one that aborted, as in k6")
}

func TestFailLetsTheRunGoOn(t *testing.T) {
	out := scripttest.Run(t, `
import exec from 'k6/execution';
export const options = { iterations: 3 };
export default function () { if (exec.scenario.iterationInTest === 0) exec.test.fail('not good'); }`)
	assert.Equal(t, runner.MarkedFailed, runner.KindOf(out.Err), "%v", out.Err)
	assert.EqualValues(t, 3, out.Result.Iterations)
	assert.Contains(t, out.Log[0], "test marked as failed: not good")
}

func TestAScriptThatLoopsForEverIsInterruptedAtTheGracefulStop(t *testing.T) {
	for _, e := range []string{
		"executor: 'constant-vus', vus: 2, duration: '1s', gracefulStop: '200ms'",
		"executor: 'shared-iterations', vus: 2, iterations: 2, maxDuration: '1s', gracefulStop: '200ms'",
		"executor: 'ramping-vus', startVUs: 2, stages: [{ duration: '1s', target: 2 }], gracefulRampDown: '0s', gracefulStop: '200ms'",
		"executor: 'constant-arrival-rate', rate: 2, duration: '1s', preAllocatedVUs: 2, gracefulStop: '200ms'",
	} {
		out := scripttest.Run(t, "export const options = { scenarios: { a: { "+e+" } } }; export default function () { for (;;); }")
		require.NoError(t, out.Err, e)
		assert.EqualValues(t, 2, out.Result.Interrupted, e)
		assert.Zero(t, out.Result.Iterations, e)
		assert.GreaterOrEqual(t, out.Result.Duration, 1200*time.Millisecond, e)
		assert.Less(t, out.Result.Duration, 30*time.Second, e)
	}
}

func TestAServerThatDiesGivesFailedRequests(t *testing.T) {
	var calls atomic.Int64
	dead := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 20 {
			close(dead)
		}
		_, _ = io.WriteString(w, "ok")
	}))
	t.Cleanup(s.Close)
	go func() {
		<-dead
		s.CloseClientConnections()
		_ = s.Listener.Close()
	}()
	out := scripttest.Run(t, fmt.Sprintf(`import http from 'k6/http';
export const options = { scenarios: { a: { executor: 'per-vu-iterations', vus: 4, iterations: 50, maxDuration: '1m' } } };
export default function () { http.get(%q); }`, s.URL))
	require.NoError(t, out.Err)
	assert.EqualValues(t, 200, out.Result.Iterations)
	assert.Equal(t, 200.0, value(out, "http_reqs", "count"))
	assert.Greater(t, value(out, "http_req_failed", "rate"), 0.5)
}
