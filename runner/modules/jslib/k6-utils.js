// The functions of https://jslib.k6.io/k6-utils in our own writing.
import exec from 'k6/execution';
import { randomBytes } from 'k6/crypto';
import { Rate } from 'k6/metrics';

export function randomIntBetween(min, max) {
  return min + Math.floor(Math.random() * (max - min + 1));
}

export function randomItem(items) {
  return items[randomIntBetween(0, items.length - 1)];
}

export function randomString(length, charset = 'abcdefghijklmnopqrstuvwxyz') {
  return Array.from({ length }, () => randomItem(charset)).join('');
}

// uuidv4 draws from Math.random, so that a seed repeats it, unless secure.
export function uuidv4(secure = false) {
  const bytes = secure ? new Uint8Array(randomBytes(16)) : Uint8Array.from({ length: 16 }, () => randomIntBetween(0, 255));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

// findBetween gives null where there is nothing to find.
export function findBetween(content, left, right, repeat = false) {
  const found = [];
  for (let at = 0; at <= content.length; ) {
    const head = content.indexOf(left, at);
    const start = head + left.length;
    const end = head < 0 ? -1 : content.indexOf(right, start);
    if (end < 0) {
      break;
    }
    found.push(content.slice(start, end));
    if (!repeat) {
      return found[0];
    }
    at = Math.max(end + right.length, at + 1);
  }
  return found.length > 0 ? found : null;
}

// normalDistributionStages are a bell curve from two deviations before its
// peak to two after it in the middle two thirds of the time, and the ways up
// to it and down from it in a sixth each.
export function normalDistributionStages(maxVUs, durationSeconds, numberOfStages = 10) {
  const slope = `${Math.ceil(durationSeconds / 6)}s`;
  const step = `${Math.ceil((durationSeconds * 4) / 6 / numberOfStages)}s`;
  const density = Array.from({ length: numberOfStages + 1 }, (_, i) => {
    const deviations = (4 * i) / numberOfStages - 2;
    return Math.exp(-(deviations * deviations) / 2);
  });
  const peak = Math.max(...density);
  const stages = density.map((d, i) => ({ duration: i === 0 ? slope : step, target: Math.round((maxVUs * d) / peak) }));
  return [...stages, { duration: slope, target: 0 }];
}

const units = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

// parseDuration gives milliseconds; a number without a unit is milliseconds.
export function parseDuration(text) {
  if (text === undefined || text === null || text === '') {
    throw new Error('parseDuration(): want a duration such as "1m30s", not nothing');
  }
  const seen = new Set();
  let total = 0;
  let rest = String(text);
  while (rest !== '') {
    const [all, amount, unit] = /^(\d+\.?\d*|\.\d+)(ms|[a-z]*)/.exec(rest) ?? [];
    if (all === undefined || (unit !== '' && !(unit in units)) || (unit === '' && all !== rest)) {
      throw new Error(`parseDuration(${JSON.stringify(text)}): want numbers with the units d, h, m, s or ms`);
    }
    if (seen.has(unit)) {
      throw new Error(`parseDuration(${JSON.stringify(text)}): the unit ${unit} comes twice`);
    }
    seen.add(unit);
    const value = Number(amount) * (units[unit] ?? 1);
    total += unit === 'ms' ? Math.trunc(value) : value;
    rest = rest.slice(all.length);
  }
  return total;
}

function currentStages() {
  const stages = exec.test.options.scenarios?.[exec.scenario.name]?.stages;
  if (!stages || stages.length === 0) {
    throw new Error(`the scenario "${exec.scenario.name}" has no stages: only ramping-vus and ramping-arrival-rate have`);
  }
  return stages;
}

export function getCurrentStageIndex() {
  const stages = currentStages();
  let left = Date.now() - exec.scenario.startTime;
  const running = stages.findIndex((stage) => {
    left -= parseDuration(stage.duration);
    return left < 0;
  });
  return running < 0 ? stages.length - 1 : running;
}

export function tagWithCurrentStageIndex() {
  exec.vu.tags.stage = getCurrentStageIndex();
}

export function tagWithCurrentStageProfile() {
  const stages = currentStages();
  const i = getCurrentStageIndex();
  const climb = i === 0 ? 1 : stages[i].target - stages[i - 1].target;
  exec.vu.tags.stage_profile = climb > 0 ? 'ramp-up' : climb < 0 ? 'ramp-down' : 'steady';
}

const checks = new Rate('checks');

// check is k6's check that waits for promises; with one among them it gives a
// promise itself.
export function check(value, checkers, tags) {
  if (value instanceof Promise) {
    return value.then((v) => check(v, checkers, tags));
  }
  const results = Object.entries(checkers).map(([name, checker]) => {
    const note = (result) => {
      checks.add(Boolean(result), { ...tags, check: name });
      return Boolean(result);
    };
    const result = typeof checker === 'function' ? checker(value) : checker;
    return result instanceof Promise ? result.then(note) : note(result);
  });
  if (results.some((r) => r instanceof Promise)) {
    return Promise.all(results).then((all) => all.every(Boolean));
  }
  return results.every(Boolean);
}
