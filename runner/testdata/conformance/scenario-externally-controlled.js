/*
expect:
  exit: 104
  stderr: [externally-controlled]
*/
export const options = {
  scenarios: { load: { executor: 'externally-controlled', vus: 1, maxVUs: 1, duration: '1s' } },
};

export default function () {
  const end = Date.now() + 300;
  while (Date.now() < end);
}
