/*
expect:
  console: [info threw]
*/
import { SharedArray } from 'k6/data';

export default function () {
  try {
    new SharedArray('late', () => []);
  } catch (e) {
    console.log('threw');
  }
}
