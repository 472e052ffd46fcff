/*
args: [--summary-mode, disabled]
expect:
  console: []
  counts: {iterations: 1}
k6:
  because: k6 writes no --summary-export where the summary is disabled; here a file that is asked for is written
  counts: {iterations: null}
*/
export default function () {}

export function handleSummary() {
  console.log('called');
}
