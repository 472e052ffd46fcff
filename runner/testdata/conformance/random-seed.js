/*
expect:
  console: [info true, 'info 0.9451961492941164 0.24496508529377975', info true]
*/
import { randomSeed } from 'k6';

// A seed gives the same numbers in every run.
export default function () {
  console.log(Math.random() !== Math.random());
  randomSeed(0);
  const first = [Math.random(), Math.random()];
  console.log(first.join(' '));
  randomSeed(0);
  console.log(Math.random() === first[0]);
}
