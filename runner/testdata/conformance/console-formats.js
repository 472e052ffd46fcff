/*
expect:
  console:
    - info text 1 true null undefined
    - 'info { a: 1, b: "x" }'
    - 'info [ 1, "two", [ 3 ] ]'
    - 'info { deep: { list: [ 1 ] } }'
    - 'info {}'
    - 'info []'
    - 'info  '
    - info 1.5 NaN Infinity
*/
export default function () {
  console.log('text', 1, true, null, undefined);
  console.log({ a: 1, b: 'x' });
  console.log([1, 'two', [3]]);
  console.log({ deep: { list: [1] } });
  console.log({});
  console.log([]);
  console.log(' ');
  console.log(1.5, NaN, Infinity);
}
