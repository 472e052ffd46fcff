//go:build unix

package http1

import (
	"net"
	"syscall"
)

// canProbe says whether this system lets us see, without waiting, that a server has
// closed a connection.
const canProbe = true

// probe looks whether a connection was closed by the other side. The zero value is
// that of a connection that cannot be looked at.
type probe struct {
	raw    syscall.RawConn
	look   func(fd uintptr) bool
	closed *bool
}

func newProbe(c net.Conn) probe {
	if inner, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = inner.NetConn()
	}
	s, ok := c.(syscall.Conn)
	if !ok {
		return probe{}
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return probe{}
	}
	closed := new(bool)
	return probe{raw: raw, closed: closed, look: func(fd uintptr) bool {
		var one [1]byte
		_, err := syscall.Read(int(fd), one[:])
		*closed = err != syscall.EAGAIN && err != syscall.EWOULDBLOCK
		return true
	}}
}

func (p probe) open() bool {
	return p.raw != nil && p.raw.Read(p.look) == nil && !*p.closed
}
