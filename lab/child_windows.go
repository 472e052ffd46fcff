package lab

import "syscall"

// childAttributes: a console's Ctrl-C reaches the child directly.
func childAttributes() *syscall.SysProcAttr { return nil }
