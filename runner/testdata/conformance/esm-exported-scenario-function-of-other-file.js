/*
expect:
  console: [info elsewhere]
*/
export { elsewhere } from './lib/functions.js';

export const options = { scenarios: { load: { executor: 'shared-iterations', exec: 'elsewhere' } } };
