/*
args: [--no-such-flag]
expect:
  exit: 2
  stderr: [--no-such-flag]
k6:
  because: a command line that cannot be read has the code 2 in retrylab, whatever the command
  exit: 255
*/
export default function () {}
