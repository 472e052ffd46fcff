/*
expect:
  exit: 104
  stderr: [duration]
*/
export const options = { scenarios: { load: { executor: 'constant-vus', vus: 1, duration: '900ms' } } };

export default function () {}
