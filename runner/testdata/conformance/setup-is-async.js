/*
expect:
  console: [info 5]
*/
export async function setup() {
  await new Promise((resolve) => setTimeout(resolve, 10));
  return { value: 5 };
}

export default function (data) {
  console.log(data.value);
}
