/*
expect:
  counts: {iterations: 1}
  console: ['info {"kept":1}']
k6:
  because: k6 ends the run where the data holds a function; here it is left out, as JSON.stringify does
  exit: 255
  counts: {iterations: null}
  console: []
*/
export function setup() {
  return { kept: 1, dropped: () => 2 };
}

export default function (data) {
  console.log(JSON.stringify(data));
}
