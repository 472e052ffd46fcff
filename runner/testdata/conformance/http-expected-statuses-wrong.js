/*
expect:
  exit: 107
*/
import http from 'k6/http';

http.setResponseCallback(http.expectedStatuses('all'));

export default function () {}
