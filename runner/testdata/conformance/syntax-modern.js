/*
expect:
  console: [info 5 none 9 a, 'info 1,2', info true]
*/
class Box {
  #value = 5;
  static kind = 'a';
  get value() {
    return this.#value;
  }
}

export default function () {
  const o = { a: null };
  let n = null;
  n ??= 9;
  console.log(new Box().value, o?.b?.c ?? 'none', n, Box.kind);
  console.log([...new Set([1, 2, 2])].join());
  console.log(/(?<year>\d{4})/.exec('in 2026').groups.year === '2026' && 2n ** 3n === 8n);
}
