//go:build !windows

package lab

import (
	"os"
	"syscall"
)

// interruptGroup asks a process and what it has started to end. Each may have
// ended by itself.
func interruptGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGINT) }

// killGroup ends a process and what it has started.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
