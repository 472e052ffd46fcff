// Command retrylab measures what a retry really costs.
package main

import (
	"os"

	"github.com/retrylab/retrylab/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.Streams{Out: os.Stdout, Err: os.Stderr}))
}
