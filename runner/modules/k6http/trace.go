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
	mu                        sync.Mutex
	getConn, gotConn          time.Time
	connectStart, connectDone time.Time
	tlsStart, tlsDone         time.Time
	wrote, firstByte          time.Time
	remote                    net.Addr
	client                    httptrace.ClientTrace
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
		GetConn:      func(string) { first(&t.getConn) },
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

func (t *trace) got(info httptrace.GotConnInfo) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gotConn = now
	t.remote = info.Conn.RemoteAddr()
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
