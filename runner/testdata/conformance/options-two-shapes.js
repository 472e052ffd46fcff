/*
expect:
  exit: 104
*/
export const options = { duration: '1s', scenarios: { load: { executor: 'shared-iterations' } } };

export default function () {}
