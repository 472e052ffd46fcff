/*
expect:
  exit: 107
*/
import { SharedArray } from 'k6/data';

const list = new SharedArray('none', () => ({ not: 'a list' }));

export default function () {}
