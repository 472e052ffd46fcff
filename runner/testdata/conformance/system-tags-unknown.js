/*
expect:
  exit: 104
  stderr: [colour]
  none: [iterations]
k6:
  because: k6 takes an unknown name for none; a typing error must not take tags away
  exit: 0
  stderr: []
  none: []
*/
export const options = { systemTags: ['colour'] };

export default function () {}
