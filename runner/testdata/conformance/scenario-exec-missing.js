/*
expect:
  exit: 104
  stderr: [nowhere]
*/
export const options = { scenarios: { load: { executor: 'shared-iterations', exec: 'nowhere' } } };

export default function () {}
