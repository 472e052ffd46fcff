/*
expect:
  console:
    - info setup 0 undefined
    - 'info {"list":[1,2]} null'
    - 'info {"list":[1,2]} null'
  files: {summary.json: ['"setup_data"']}
*/
export function setup() {
  console.log('setup', __VU, typeof __ITER === 'undefined' ? undefined : __ITER);
  return { inner: { list: [1, 2] }, nothing: null };
}

// The data is what JSON keeps of it.
export default function (data) {
  console.log(JSON.stringify(data.inner), data.nothing);
}

export function teardown(data) {
  console.log(JSON.stringify(data.inner), data.nothing);
}
