/*
expect:
  console: [info 1s 5s]
*/
import exec from 'k6/execution';

// A bare number is milliseconds.
export const options = { scenarios: { load: { executor: 'shared-iterations', maxDuration: 5000, gracefulStop: 1000 } } };

export default function () {
  const s = exec.test.options.scenarios.load;
  console.log(s.gracefulStop, s.maxDuration);
}
