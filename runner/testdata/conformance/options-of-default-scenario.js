/*
expect:
  console: [info 1 10m0s]
k6:
  because: in the built-in runner the options in force have their defaults filled in
  console: [info null null]
*/
import exec from 'k6/execution';

export default function () {
  const s = exec.test.options.scenarios.default;
  console.log(s.iterations, s.maxDuration);
}
