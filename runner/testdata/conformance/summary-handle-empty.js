/*
expect:
  exit: 0
  counts: {iterations: 1}
*/
export default function () {}

// An empty object prints nothing at all.
export function handleSummary() {
  return {};
}
