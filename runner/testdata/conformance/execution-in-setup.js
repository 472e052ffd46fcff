/*
expect:
  console: [info threw, info 0, info true]
*/
import exec from 'k6/execution';

export function setup() {
  try {
    exec.scenario.name;
  } catch (e) {
    console.log('threw');
  }
  console.log(exec.vu.idInTest);
  console.log(exec.instance.iterationsCompleted === 0);
}

export default function () {}
