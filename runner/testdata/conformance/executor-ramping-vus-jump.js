/*
expect:
  counts: {iterations: 3}
*/
import { sleep } from 'k6';

// A stage without a duration jumps.
export const options = {
  stages: [{ duration: '0s', target: 3 }, { duration: '1s', target: 3 }],
  vus: 0,
};

export default function () {
  sleep(1.2);
}
