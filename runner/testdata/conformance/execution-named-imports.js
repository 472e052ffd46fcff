/*
expect:
  console: [info default 1]
*/
import { scenario, vu } from 'k6/execution';

export default function () {
  console.log(scenario.name, vu.idInTest);
}
