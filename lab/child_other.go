//go:build !linux && !windows

package lab

import "syscall"

// childAttributes keep a terminal's Ctrl-C for the lab, which passes it on.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
