/*
expect:
  rates: {checks: [10, 0]}
*/
import { check } from 'k6';
import exec from 'k6/execution';

export default function () {
  check(exec, {
    name: (e) => e.scenario.name === 'default',
    executor: (e) => e.scenario.executor === 'per-vu-iterations',
    startTime: (e) => Math.abs(Date.now() - e.scenario.startTime) < 10000,
    progress: (e) => e.scenario.progress >= 0 && e.scenario.progress <= 1,
    iterations: (e) => e.scenario.iterationInInstance === 0 && e.scenario.iterationInTest === 0,
    vu: (e) => e.vu.idInInstance === 1 && e.vu.idInTest === 1,
    'iterations of the vu': (e) => e.vu.iterationInInstance === 0 && e.vu.iterationInScenario === 0,
    instance: (e) => e.instance.vusActive === 1 && e.instance.vusInitialized === 1,
    done: (e) => e.instance.iterationsCompleted === 0 && e.instance.iterationsInterrupted === 0,
    duration: (e) => e.instance.currentTestRunDuration >= 0,
  });
}
