/*
expect:
  console: [info threw]
k6:
  because: samples have tags only in the built-in runner
  console: [info b]
*/
import exec from 'k6/execution';

export default function () {
  try {
    exec.vu.metrics.metadata.a = 'b';
    console.log(exec.vu.metrics.metadata.a);
  } catch (e) {
    console.log('threw');
  }
}
