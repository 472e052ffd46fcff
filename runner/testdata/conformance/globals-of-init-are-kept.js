/*
expect:
  console: [info 1, info 2]
*/
export const options = { iterations: 2 };

let calls = 0;

export default function () {
  console.log(++calls);
}
