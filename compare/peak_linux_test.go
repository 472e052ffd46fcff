package compare_test

import (
	"os"
	"syscall"
)

// peak is the most memory that a process had, in bytes.
func peak(state *os.ProcessState) int64 {
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		return usage.Maxrss << 10
	}
	return 0
}
