/*
args: [--summary-mode, full]
expect:
  stdout: [outer, browsers, 'yes']
*/
import { check, group } from 'k6';

export const options = { scenarios: { browsers: { executor: 'shared-iterations' } } };

export default function () {
  group('outer', () => check(1, { 'yes': () => true }));
}
