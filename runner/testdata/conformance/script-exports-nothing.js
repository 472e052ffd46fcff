/*
expect:
  exit: 107
k6:
  because: k6 has no code of its own for a script without functions; here it is a fault of the script as any other
  exit: 255
*/
const a = 1;
