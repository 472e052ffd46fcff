/*
expect:
  exit: 104
  stderr: [checks]
*/
export const options = { thresholds: { checks: ['avg>0.5'] } };

export default function () {}
