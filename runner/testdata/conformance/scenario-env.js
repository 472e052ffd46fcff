/*
env: {SHARED: outside, LEFT: left}
expect:
  console: [info inside left undefined]
*/
export const options = { scenarios: { load: { executor: 'shared-iterations', env: { SHARED: 'inside' } } } };

export default function () {
  console.log(__ENV.SHARED, __ENV.LEFT, __ENV.NOT_SET);
}
