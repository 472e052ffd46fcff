/*
expect:
  exit: 0
  stdout: [iterations]
  stderr: [no summary today]
*/
export default function () {}

export function handleSummary() {
  throw new Error('no summary today');
}
