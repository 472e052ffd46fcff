/*
ownStats: true
expect:
  console:
    - info metrics options root_group setup_data state
    - info avg count p(99)
    - info outer inner 1 1
    - 'info true 7'
    - 'info {"count==1":{"ok":true}}'
    - info number false
*/
import { check, group } from 'k6';
import { Trend } from 'k6/metrics';

const t = new Trend('spans', true);

export const options = { summaryTrendStats: ['avg', 'p(99)', 'count'], thresholds: { iterations: ['count==1'] } };

export function setup() {
  return 7;
}

export default function () {
  t.add(3);
  group('outer', () => group('inner', () => check(0, { yes: (v) => v === 0, no: (v) => v === 1 })));
}

export function handleSummary(data) {
  console.log(Object.keys(data).sort().join(' '));
  console.log(Object.keys(data.metrics.spans.values).sort().join(' '));
  const outer = data.root_group.groups[0];
  const inner = outer.groups[0];
  console.log(outer.name, inner.name, inner.checks[0].passes, inner.checks[1].fails);
  console.log(data.metrics.spans.contains === 'time', data.setup_data);
  console.log(JSON.stringify(data.metrics.iterations.thresholds));
  console.log(typeof data.state.testRunDurationMs, data.state.isStdOutTTY);
  return {};
}
