/*
expect:
  values: {sizes count: 1, sizes max: 1}
  console: [info true, info false]
*/
import { Trend } from 'k6/metrics';

const sizes = new Trend('sizes');

export default function () {
  console.log(sizes.add(1));
  console.log(sizes.add(NaN));
}
