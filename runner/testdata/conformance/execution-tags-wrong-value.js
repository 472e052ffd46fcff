/*
expect:
  console: [info threw]
*/
import exec from 'k6/execution';

export default function () {
  try {
    exec.vu.metrics.tags.a = { b: 1 };
    console.log('set');
  } catch (e) {
    console.log('threw');
  }
}
