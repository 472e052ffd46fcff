/*
args: [--new-machine-readable-summary]
expect:
  console: [info checks metrics metadata config results]
*/
import { check } from 'k6';

export default function () {
  check(1, { 'yes': () => true });
}

export function handleSummary(data) {
  const keys = Object.keys(data.results).concat(Object.keys(data));
  console.log(['checks', 'metrics', 'metadata', 'config', 'results'].filter((key) => keys.includes(key)).join(' '));
  return {};
}
