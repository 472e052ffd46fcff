/*
expect:
  exit: 104
  stderr: [iterations]
*/
export const options = { vus: 5, iterations: 2 };

export default function () {}
