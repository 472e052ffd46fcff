/*
expect:
  exit: 108
  console: []
*/
import exec from 'k6/execution';

export default function () {
  try {
    exec.test.abort();
  } catch (e) {
    console.log('caught');
  } finally {
    console.log('finally');
  }
}
