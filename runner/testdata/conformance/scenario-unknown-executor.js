/*
expect:
  exit: 104
  stderr: [no-such-executor]
*/
export const options = { scenarios: { load: { executor: 'no-such-executor' } } };

export default function () {}
