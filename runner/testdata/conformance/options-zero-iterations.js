/*
expect:
  exit: 104
*/
export const options = { iterations: 0, vus: 1 };

export default function () {}
