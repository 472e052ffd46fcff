package http1

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"sync"
	"time"
)

// mostHeader is how many bytes an answer's header may have, with those of answers
// 1xx before it, as net/http has it.
const mostHeader = 10 << 20

// conn is a connection that one request at a time uses.
type conn struct {
	transport *Transport
	host      string
	net       net.Conn
	in        *bufio.Reader
	out       *bufio.Writer
	probe     probe
	idleSince time.Time

	unsent error // why not all of this request was sent; nil: it was
	limit  int64 // bytes that may still be read
	used   bool  // for an earlier request
}

func newConn(t *Transport, host string, n net.Conn) *conn {
	c := &conn{transport: t, host: host, net: n, probe: newProbe(n)}
	c.in, c.out = bufio.NewReader(reader{c}), bufio.NewWriter(writer{c})
	return c
}

// open says whether the server has neither closed an idle connection nor sent what
// nobody asked for.
func (c *conn) open() bool { return c.probe.open() }

// reader is what the server sends, up to the limit.
type reader struct{ c *conn }

func (r reader) Read(p []byte) (int, error) {
	if r.c.limit <= 0 {
		return 0, fmt.Errorf("net/http: server response headers exceeded %d bytes; aborted", mostHeader)
	}
	if int64(len(p)) > r.c.limit {
		p = p[:r.c.limit]
	}
	n, err := r.c.net.Read(p)
	r.c.limit -= int64(n)
	return n, err
}

// writer sends to the server, and remembers what went wrong: a request hides it
// where it copies its body.
type writer struct{ c *conn }

func (w writer) Write(p []byte) (int, error) {
	n, err := w.c.net.Write(p)
	if err != nil {
		w.c.unsent = err
	}
	return n, err
}

// staleError is the failure of a connection that was used before, and on which no
// byte of an answer came: the server may have closed it while it was idle.
type staleError struct{ err error }

func (e *staleError) Error() string { return e.err.Error() }

// roundTrip sends the request and reads the head of its answer. Whoever reads the
// body to its end, or closes it, gives the connection back.
func (c *conn) roundTrip(req *http.Request, trace *httptrace.ClientTrace) (*http.Response, error) {
	ctx := req.Context()
	// The end of the request's time ends all reading and writing at once.
	stop := context.AfterFunc(ctx, func() { _ = c.net.Close() })
	resp, err := c.exchange(req, trace)
	if err != nil {
		stop()
		_ = c.net.Close()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	c.used = true
	b := &body{conn: c, ctx: ctx, stop: stop, reusable: c.unsent == nil && !resp.Close && resp.StatusCode != http.StatusSwitchingProtocols}
	if resp.Body == http.NoBody || resp.ContentLength == 0 || req.Method == http.MethodHead {
		b.end(io.EOF)
		resp.Body = http.NoBody
		return resp, nil
	}
	b.from, resp.Body = resp.Body, b
	return resp, nil
}

// exchange sends a request and reads the head of the answer.
func (c *conn) exchange(req *http.Request, trace *httptrace.ClientTrace) (*http.Response, error) {
	c.limit = mostHeader
	err := req.Write(c.out)
	if err == nil {
		err = c.out.Flush()
	}
	if err != nil && c.unsent == nil {
		return nil, err // the request's own fault, such as a body that cannot be read
	}
	// A server may answer before it has read all, and close then.
	if _, err := c.in.Peek(1); err != nil {
		if c.unsent != nil {
			err = broken(c.unsent)
		}
		if c.used {
			err = &staleError{err}
		}
		return nil, err
	}
	if trace.GotFirstResponseByte != nil {
		trace.GotFirstResponseByte()
	}
	for {
		resp, err := http.ReadResponse(c.in, req)
		if err != nil {
			return nil, broken(err)
		}
		if resp.StatusCode/100 != 1 || resp.StatusCode == http.StatusSwitchingProtocols {
			c.limit = math.MaxInt64
			return resp, nil
		}
		if trace.Got1xxResponse != nil { // which may limit their number
			if err := trace.Got1xxResponse(resp.StatusCode, textproto.MIMEHeader(resp.Header)); err != nil {
				return nil, err
			}
			c.limit = mostHeader
		}
	}
}

func broken(err error) error {
	return fmt.Errorf("net/http: HTTP/1.x transport connection broken: %w", err)
}

// body is that of an answer, which has the connection until it ends.
type body struct {
	conn     *conn
	from     io.Reader
	ctx      context.Context
	stop     func() bool // false: the time of the request is over
	reusable bool

	mu    sync.Mutex
	after error // of a read once the body has ended; nil before
}

// errClosed is the error of reading a body that was closed.
var errClosed = errors.New("http: read on closed response body")

func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	after := b.after
	b.mu.Unlock()
	if after != nil {
		return 0, after
	}
	n, err := b.from.Read(p)
	if err != nil {
		if err != io.EOF && b.ctx.Err() != nil {
			err = context.Cause(b.ctx)
		}
		b.end(err)
	}
	return n, err
}

// Close ends the body, and its connection if there was more to read.
func (b *body) Close() error {
	b.end(errClosed)
	return nil
}

// end gives the connection back after the end of the body, and else closes it.
func (b *body) end(after error) {
	b.mu.Lock()
	ended := b.after != nil
	if !ended {
		b.after = after
	}
	b.mu.Unlock()
	if ended {
		return
	}
	inTime := b.stop()
	if after == io.EOF && inTime && b.reusable && b.conn.in.Buffered() == 0 {
		b.conn.transport.putIdle(b.conn)
		return
	}
	_ = b.conn.net.Close()
}
