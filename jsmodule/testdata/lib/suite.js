// A handful of assertions, so that the cases run wherever a k6 script does.

// options run each file once.
export const options = { vus: 1, iterations: 1 };

// suite makes a default function that runs all cases, in their order. It logs
// each that fails and how many passed, and throws where one failed.
export function suite(name, cases) {
  return async function () {
    const failed = [];
    const names = Object.keys(cases);
    for (const title of names) {
      try {
        await cases[title]();
      } catch (e) {
        failed.push(title);
        console.error(`FAIL ${name}: ${title}: ${e && e.stack ? e.stack : e}`);
      }
    }
    console.log(`${name}: ${names.length - failed.length} of ${names.length} passed`);
    if (failed.length > 0) {
      throw new Error(`${name}: ${failed.length} failed: ${failed.join('; ')}`);
    }
  };
}

function show(value) {
  return value === undefined ? 'undefined' : JSON.stringify(value);
}

// equal compares by the JSON of both.
export function equal(got, want, what = 'value') {
  if (show(got) !== show(want)) {
    throw new Error(`${what}: got ${show(got)}, want ${show(want)}`);
  }
}

export function truthy(value, what) {
  if (!value) {
    throw new Error(`${what}: got ${show(value)}`);
  }
}

// caught is what f throws; undefined where it throws nothing.
export function caught(f) {
  try {
    f();
  } catch (e) {
    return e;
  }
  return undefined;
}

// throws checks that f throws an Error of this class whose message holds text.
export function throws(f, name, text) {
  const e = caught(f);
  truthy(e instanceof Error, `an Error is thrown, with ${show(text)}; it was ${e}`);
  equal(e.name, name, 'name');
  truthy(e.message.includes(text), `${show(e.message)} holds ${show(text)}`);
  return e;
}
