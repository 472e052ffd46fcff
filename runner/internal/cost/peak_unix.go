//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// peak is the greatest resident memory of a process that has ended, in bytes.
func peak(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" { // which counts bytes, the others kilobytes
		return usage.Maxrss
	}
	return usage.Maxrss * 1024
}
