/*
expect:
  counts: {iterations: 1}
  stderr: [noSuchOption]
*/
export const options = { noSuchOption: 1 };

export default function () {}
