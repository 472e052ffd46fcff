/*
expect:
  console: [info 5]
*/
const value = await Promise.resolve(5);

export default function () {
  console.log(value);
}
