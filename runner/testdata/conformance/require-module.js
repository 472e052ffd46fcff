/*
expect:
  console: [info named function, info common 2]
  rates: {checks: [1, 0]}
*/
const { check } = require('k6');
const { named } = require('./lib/values.js');
const common = require('./lib/common.cjs');

module.exports.default = function () {
  console.log(named, typeof require);
  console.log(common.kind, common.twice(1));
  check(1, { one: (v) => v === 1 });
};
