/*
expect:
  exit: 107
  stderr: [setup]
k6:
  because: k6 has no code of its own for a setup that is no function; here it is a fault of the script as any other
  exit: 255
*/
export const setup = 5;

export default function () {}
