/*
expect:
  exit: 1
  stderr: [no-such-folder]
k6:
  because: k6 says that a file of the summary could not be written, and passes; whoever waits for the file would not know
  exit: 0
*/
export default function () {}

export function handleSummary() {
  return { 'no-such-folder/summary.txt': 'text' };
}
