package k6http

import (
	"net"
	"net/http/httptrace"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestOnlyATraceThatIsOverIsUsedAgain(t *testing.T) {
	now := time.Now()
	for _, m := range []moments{{wrote: now, firstByte: now}, {wasIdle: true, firstByte: now}, {wasIdle: true, wrote: now}} {
		c, tr := &client{}, newTrace()
		tr.moments = m
		c.keep(tr)
		assert.Empty(t, c.traces)
	}
	c, tr := &client{}, newTrace()
	tr.moments = moments{getConn: now, wasIdle: true, wrote: now, firstByte: now}
	c.keep(tr)
	got := c.trace()
	assert.Same(t, tr, got)
	assert.Equal(t, moments{}, got.moments)
}

func TestTimesAreThoseOfTheConnectionThatServed(t *testing.T) {
	conn, other := net.Pipe()
	defer conn.Close()
	defer other.Close()
	begin := time.Now()
	tr := newTrace()
	tr.connectStart, tr.connectDone = begin.Add(-time.Hour), begin.Add(-time.Minute) // begun, and not needed
	tr.wrote = begin.Add(-time.Minute)                                               // on a connection that was closed
	tr.got(httptrace.GotConnInfo{Conn: conn, Reused: true})
	tr.client.WroteRequest(httptrace.WroteRequestInfo{})
	assert.False(t, tr.wrote.Before(begin), "it was sent once more")
	times, _ := tr.finish(time.Now())
	assert.Zero(t, times.connecting)
	assert.Less(t, times.sending, time.Second)
}
