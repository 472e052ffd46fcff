/*
expect:
  exit: 107
  stderr: [absent]
*/
import { absent } from './lib/values.js';

export default function () {}
