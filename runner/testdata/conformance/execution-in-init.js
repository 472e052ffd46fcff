/*
expect:
  exit: 107
*/
import exec from 'k6/execution';

const name = exec.scenario.name;

export default function () {}
