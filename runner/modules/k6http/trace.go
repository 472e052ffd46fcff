package k6http

import (
	"crypto/tls"
	"net"
	"net/http/httptrace"
	"sync"
	"time"
)

// timings are the phases of a request. Duration is sending, waiting and
// receiving: what k6 calls http_req_duration.
type timings struct {
	duration, blocked, connecting, tlsHandshaking, sending, waiting, receiving time.Duration
}

// trace takes the times of one hop of a request. net/http may still call it
// when the hop is over, from goroutines of its own.
type trace struct {
	client httptrace.ClientTrace

	mu sync.Mutex
	moments
}

// moments are the times of a hop, and to whom it went.
type moments struct {
	getConn, gotConn          time.Time
	connectStart, connectDone time.Time
	tlsStart, tlsDone         time.Time
	wrote, firstByte          time.Time
	remote                    net.Addr
	wasIdle                   bool // the connection, so that none was begun
}

func newTrace() *trace {
	t := &trace{}
	first := func(at *time.Time) {
		now := time.Now()
		t.mu.Lock()
		if at.IsZero() {
			*at = now
		}
		t.mu.Unlock()
	}
	t.client = httptrace.ClientTrace{
		GetConn: func(string) {
			first(&t.getConn)
			t.again()
		},
		ConnectStart: func(string, string) { first(&t.connectStart) },
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				first(&t.connectDone)
			}
		},
		TLSHandshakeStart: func() { first(&t.tlsStart) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			if err == nil {
				first(&t.tlsDone)
			}
		},
		GotConn: t.got,
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				now := time.Now()
				t.mu.Lock()
				t.wrote = now
				t.mu.Unlock()
			}
		},
		GotFirstResponseByte: func() { first(&t.firstByte) },
	}
	return t
}

// again forgets a connection that turned out to be closed: the request is sent on
// another one.
func (t *trace) again() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.gotConn.IsZero() {
		t.connectStart, t.connectDone, t.tlsStart, t.tlsDone = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	}
}

func (t *trace) got(info httptrace.GotConnInfo) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gotConn = now
	t.remote, t.wasIdle = info.Conn.RemoteAddr(), info.WasIdle
	if info.Reused {
		// A connection that was begun for this request and then not needed
		// has left its times here.
		t.connectStart, t.connectDone = now, now
		t.tlsStart, t.tlsDone = time.Time{}, time.Time{}
		if _, ok := info.Conn.(*tls.Conn); ok {
			t.tlsStart, t.tlsDone = now, now
		}
	}
}

// trace returns one that nothing calls any more, or a new one.
func (c *client) trace() *trace {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.traces) - 1
	if last < 0 {
		return newTrace()
	}
	t := c.traces[last]
	c.traces = c.traces[:last]
	t.moments = moments{}
	return t
}

// keep has the trace of a hop that is over used again, if nothing can call it any
// more: the connection was there, and the request is sent and answered.
func (c *client) keep(t *trace) {
	t.mu.Lock()
	over := t.wasIdle && !t.wrote.IsZero() && !t.firstByte.IsZero()
	t.mu.Unlock()
	if !over {
		return
	}
	c.mu.Lock()
	c.traces = append(c.traces, t)
	c.mu.Unlock()
}

// finish computes the phases, end being when the body was read.
func (t *trace) finish(end time.Time) (timings, net.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	between := func(a, b time.Time) time.Duration {
		if a.IsZero() || b.IsZero() || b.Before(a) {
			return 0
		}
		return b.Sub(a)
	}
	ready := t.gotConn
	switch {
	case !t.tlsDone.IsZero():
		ready = t.tlsDone
	case !t.connectDone.IsZero():
		ready = t.connectDone
	}
	out := timings{
		blocked:        between(t.getConn, t.gotConn),
		connecting:     between(t.connectStart, t.connectDone),
		tlsHandshaking: between(t.tlsStart, t.tlsDone),
		sending:        between(ready, t.wrote),
	}
	if !t.wrote.IsZero() && !t.firstByte.IsZero() {
		out.waiting = between(t.wrote, t.firstByte)
		out.receiving = between(t.firstByte, end)
	} else if !t.wrote.IsZero() {
		out.waiting = between(t.wrote, end) // it ended while it waited
	}
	out.duration = out.sending + out.waiting + out.receiving
	return out, t.remote
}
