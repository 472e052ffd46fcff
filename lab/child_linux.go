package lab

import "syscall"

// childAttributes keep a terminal's Ctrl-C for the lab, which passes it on,
// and end the child should the lab be killed.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
