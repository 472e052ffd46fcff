/*
expect:
  console: [info true no luck]
*/
import { fail } from 'k6';

export default function () {
  try {
    fail('no luck');
  } catch (e) {
    console.log(e instanceof Error || String(e) !== '', String(e).replace(/^(GoError|Error): /, ''));
  }
}
