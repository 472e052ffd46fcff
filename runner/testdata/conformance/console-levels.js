/*
expect:
  console: [info a log, info an info, warning a warning, error an error]
*/
export default function () {
  console.log('a log');
  console.info('an info');
  console.warn('a warning');
  console.error('an error');
  console.debug('only where debug messages are asked for');
}
