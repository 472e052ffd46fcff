/*
expect:
  stdout: [to stdout]
  stderr: [to stderr]
  files:
    report.txt: [iterations 2 true]
    summary.json: ['"iterations"']
*/
export const options = { iterations: 2 };

export default function () {}

export function handleSummary(data) {
  const m = data.metrics.iterations;
  return {
    stdout: 'to stdout\n',
    stderr: 'to stderr\n',
    'report.txt': `iterations ${m.values.count} ${m.type === 'counter' && m.contains === 'default'}`,
  };
}
