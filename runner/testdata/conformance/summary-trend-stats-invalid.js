/*
ownStats: true
expect:
  exit: 104
  stderr: [p(101)]
k6:
  because: k6 has no code of its own for statistics that it does not know
  exit: 255
*/
export const options = { summaryTrendStats: ['p(101)'] };

export default function () {}
