/*
expect:
  exit: 104
  stderr: [not a name]
*/
export const options = { scenarios: { 'not a name': { executor: 'shared-iterations' } } };

export default function () {}
