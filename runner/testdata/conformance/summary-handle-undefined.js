/*
expect:
  console: [info called]
  stdout: [iterations]
*/
export default function () {}

// Nothing to write: the usual summary follows.
export function handleSummary() {
  console.log('called');
}
