exports.kind = 'common';
exports.twice = (n) => 2 * n;
