/*
expect:
  exit: 104
  stderr: [iterationz]
*/
export const options = { scenarios: { load: { executor: 'shared-iterations', iterationz: 5 } } };

export default function () {}
