/*
expect:
  console: [info 1 0, info 1 1, info 1 2]
*/
export const options = { iterations: 3 };

export default function () {
  console.log(__VU, __ITER);
}
