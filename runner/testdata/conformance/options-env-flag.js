/*
args: [-e, 'NAME=of the flag', --env, OTHER=a=b]
env: {NAME: of the environment}
expect:
  console: [info of the flag a=b]
*/
export default function () {
  console.log(__ENV.NAME, __ENV.OTHER);
}
