/*
expect:
  console: [info undefined undefined undefined undefined undefined undefined undefined, info object object]
*/
export default function () {
  console.log(typeof fetch, typeof URL, typeof Buffer, typeof process, typeof window, typeof XMLHttpRequest, typeof structuredClone);
  console.log(typeof globalThis, typeof global);
}
