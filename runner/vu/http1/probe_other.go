//go:build !unix

package http1

import "net"

const canProbe = false

type probe struct{}

func newProbe(net.Conn) probe { return probe{} }

func (probe) open() bool { return false }
