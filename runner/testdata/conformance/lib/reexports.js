export { named, default as value } from './values.js';
export * as all from './others.js';
