/*
expect:
  exit: 104
  stderr: [slowest]
*/
export const options = { thresholds: { http_req_duration: ['slowest<5'] } };

export default function () {}
