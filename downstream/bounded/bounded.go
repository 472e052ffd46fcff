// Package bounded is net/http's server with bounds on what a client may make it wait for: the first
// request of a connection, a header, a body. Its end waits for the requests in progress and for nothing
// else.
package bounded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// The bounds of a [Server], where the http.Server that it is made of has none, and of [ReadBody].
const (
	ReadHeaderTimeout = 10 * time.Second
	IdleTimeout       = 2 * time.Minute
	MaxHeaderBytes    = 64 << 10
	BodyTimeout       = 10 * time.Second // from the first look at a body to its end
)

const (
	// silentGrace is when a server that ends closes the connections that have sent nothing yet. It answers
	// no new request, but must know of every connection that it accepted. bodyGrace is how long it waits
	// for what is missing of a body.
	silentGrace = 100 * time.Millisecond
	bodyGrace   = time.Second
)

// Server is an [http.Server] that clients cannot hold up. Make one with [New]. It is safe for concurrent
// use.
type Server struct {
	http    *http.Server
	noMore  context.Context // ends when bodies have had their time
	hurryUp context.CancelFunc

	mu     sync.Mutex
	silent map[net.Conn]struct{} // connections that have not sent a request yet
}

// serverKey is the key under which a request's context has its Server.
type serverKey struct{}

// New makes a Server of server, which must not be serving yet and belongs to it from now on. Bounds that
// are zero get the defaults of this package; its ConnState and ConnContext are called as they would be
// without.
func New(server *http.Server) *Server {
	s := &Server{http: server, silent: make(map[net.Conn]struct{})}
	s.noMore, s.hurryUp = context.WithCancel(context.Background())
	// No ReadTimeout: it would end net/http's watch on clients in the middle of a long request, and so
	// report them gone.
	if server.ReadHeaderTimeout == 0 {
		server.ReadHeaderTimeout = ReadHeaderTimeout
	}
	if server.IdleTimeout == 0 {
		server.IdleTimeout = IdleTimeout
	}
	if server.MaxHeaderBytes == 0 {
		server.MaxHeaderBytes = MaxHeaderBytes
	}
	// net/http's own answer to OPTIONS * would wait for a body without end.
	server.DisableGeneralOptionsHandler = true
	connState, connContext := server.ConnState, server.ConnContext
	server.ConnState = func(c net.Conn, state http.ConnState) {
		s.connState(c, state)
		if connState != nil {
			connState(c, state)
		}
	}
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if connContext != nil {
			ctx = connContext(ctx, c)
		}
		return context.WithValue(ctx, serverKey{}, s)
	}
	return s
}

// Serve is that of [http.Server].
func (s *Server) Serve(l net.Listener) error { return s.http.Serve(l) }

// Close is that of [http.Server].
func (s *Server) Close() error { return s.http.Close() }

// Shutdown is that of [http.Server], but does not wait for connections that stay silent, such as those
// that an HTTP client dials in reserve, nor for bodies that do not come: the former are closed after a
// tenth of a second, the latter's requests are answered with 408 after a second.
func (s *Server) Shutdown(ctx context.Context) error {
	silent := time.AfterFunc(silentGrace, s.closeSilent)
	defer silent.Stop()
	bodies := time.AfterFunc(bodyGrace, s.hurryUp)
	defer bodies.Stop()
	return s.http.Shutdown(ctx)
}

func (s *Server) connState(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state == http.StateNew {
		s.silent[c] = struct{}{}
	} else {
		delete(s.silent, c)
	}
}

func (s *Server) closeSilent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.silent {
		_ = c.Close()
	}
}

// ReadBody copies the body of a request to dst, to its end. Only then does net/http watch the connection,
// and only by that watch does a handler learn that its client has gone.
//
// With an error comes the status to answer with, and the request should end: 413 for more than limit
// bytes, 408 for a body that has not come to its end within [BodyTimeout], or within a second of its
// [Server] being shut down, and 400 for one that cannot be read, also since the client has gone: such an
// error wraps the connection's. After an error nothing more is read from the connection, which ends with
// the answer. A ResponseWriter that has no read deadline, as in a test, bounds no time.
func ReadBody(dst io.Writer, w http.ResponseWriter, r *http.Request, limit int64) (status int, err error) {
	if r.Body == nil || r.Body == http.NoBody {
		return 0, nil
	}
	began := time.Now()
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(began.Add(BodyTimeout))
	whole := hurried(r.Context(), control)
	_, err = io.Copy(dst, http.MaxBytesReader(w, r.Body, limit))
	whole()
	if err == nil {
		_ = control.SetReadDeadline(time.Time{})
		return 0, nil
	}
	// net/http would wait for the rest, to be able to read another request.
	_ = control.SetReadDeadline(began)
	var tooLong *http.MaxBytesError
	var network net.Error
	switch {
	case errors.As(err, &tooLong):
		return http.StatusRequestEntityTooLarge, fmt.Errorf("body is longer than %d bytes", tooLong.Limit)
	case errors.As(err, &network) && network.Timeout():
		return http.StatusRequestTimeout,
			fmt.Errorf("body has not come to its end within %v", time.Since(began).Round(time.Millisecond))
	}
	return http.StatusBadRequest, fmt.Errorf("body cannot be read: %w", err)
}

// hurried ends the reading of a request when its Server wants no more bodies, until whole is called.
func hurried(ctx context.Context, control *http.ResponseController) (whole func()) {
	s, ok := ctx.Value(serverKey{}).(*Server)
	if !ok {
		return func() {}
	}
	cut := make(chan struct{})
	stop := context.AfterFunc(s.noMore, func() {
		defer close(cut)
		_ = control.SetReadDeadline(time.Now())
	})
	return func() {
		if !stop() {
			<-cut // so that no deadline is set behind the reader's back
		}
	}
}
