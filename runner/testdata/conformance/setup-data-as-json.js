/*
expect:
  console: ['info 1970-01-01T00:00:00.000Z false']
k6:
  because: the built-in runner makes the data JSON as JSON.stringify does; k6 writes dates otherwise, and null for undefined
  console: ['info 1970-01-01T00:00:00Z true']
*/
export function setup() {
  return { when: new Date(0), left: undefined };
}

export default function (data) {
  console.log(data.when, 'left' in data);
}
