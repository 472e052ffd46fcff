/*
expect:
  console: [info 36 4, info true, info 32]
*/
export default async function () {
  const id = crypto.randomUUID();
  console.log(id.length, id[14]);
  const list = crypto.getRandomValues(new Uint8Array(8));
  console.log(list.length === 8);
  console.log((await crypto.subtle.digest('SHA-256', new Uint8Array([1]))).byteLength);
}
