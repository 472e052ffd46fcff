/*
expect:
  console:
    - 'info Error: broken'
    - 'info { error: Error: broken }'
    - 'info [object Function]'
    - 'info { self: [Circular] }'
    - 'info { nothing: null, missing: null }'
    - 'info Uint8Array(2) [ 1, 2 ]'
*/
export default function () {
  console.log(new Error('broken'));
  console.log({ error: new Error('broken') });
  console.log(() => 1);
  const o = {};
  o.self = o;
  console.log(o);
  console.log({ nothing: null, missing: undefined });
  console.log(new Uint8Array([1, 2]));
}
