package downstream

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/retrylab/retrylab/downstream/bounded"
)

// DefaultAddr is where [Listen] binds when it is given no address: loopback, a free port.
const DefaultAddr = "127.0.0.1:0"

// Listener is a [Server] that serves a TCP address. Make one with [Listen] and end it with
// [Listener.Close]. It is safe for concurrent use.
type Listener struct {
	server *Server
	http   *bounded.Server
	addr   *net.TCPAddr

	served   chan struct{} // closed when the accept loop has ended
	serveErr error         // why it ended before Close; read after served

	conns sync.WaitGroup // connections whose goroutine runs
}

// Listen makes a Server and serves it on addr ("host:port"; "" is [DefaultAddr], port 0 a free one). It
// returns once the port is bound, so calls may be made at once. An address that is not loopback is
// refused unless cfg.Public is set; an empty host is every address of the machine and so not loopback.
func Listen(addr string, cfg Config) (*Listener, error) {
	return open(addr, cfg, bounded.ReadHeaderTimeout)
}

func open(addr string, cfg Config, headerTimeout time.Duration) (*Listener, error) {
	server, err := New(cfg)
	if err != nil {
		return nil, err
	}
	ln, err := Bind(addr, cfg.Public)
	if err != nil {
		return nil, err
	}
	l := &Listener{server: server, addr: ln.Addr().(*net.TCPAddr), served: make(chan struct{})}
	// No WriteTimeout: it would cut slow answers.
	l.http = bounded.New(&http.Server{
		Handler:           server,
		ReadHeaderTimeout: headerTimeout,
		ConnState:         l.connState,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
		ErrorLog: log.New(debugWriter{server}, "", 0),
	})
	go func() {
		defer close(l.served)
		if err := l.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			l.serveErr = fmt.Errorf("serve %s: %w", l.addr, err)
			server.log.WithError(err).WithField("addr", l.addr.String()).Error("downstream stopped accepting")
		}
	}()
	return l, nil
}

// Bind listens on addr ("host:port"; "" is [DefaultAddr], port 0 a free one). An address that is not
// loopback is refused unless public is set.
func Bind(addr string, public bool) (*net.TCPListener, error) {
	if addr == "" {
		addr = DefaultAddr
	}
	// Resolved once, so that the address that is checked is the address that is bound.
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, listenError(addr, err)
	}
	if !public && !tcp.IP.IsLoopback() {
		return nil, fmt.Errorf("listen %s: not a loopback address (127.0.0.0/8, ::1, localhost) and public access is not allowed", addr)
	}
	ln, err := net.ListenTCP("tcp", tcp)
	if err != nil {
		return nil, listenError(addr, err)
	}
	return ln, nil
}

// URL returns the base of the server's URLs, without a slash at its end, as reached from this machine.
func (l *Listener) URL() string {
	a := *l.addr
	if a.IP.IsUnspecified() {
		a.IP = net.IPv4(127, 0, 0, 1)
	}
	return "http://" + a.String()
}

// Server returns the handler behind the listener. Its Stats may be read after Close.
func (l *Listener) Server() *Server { return l.server }

// Close stops accepting and waits for the calls in flight, those of gone clients under [Ignore]
// included. It does not wait for connections that stay silent, nor, for more than a second, for bodies.
// When ctx ends first, it cuts the connections and the work, waits for their goroutines and returns an
// error that wraps the context's cause. In both cases nothing is left running. Closing again is harmless;
// with an ended ctx it hurries a Close that still waits.
func (l *Listener) Close(ctx context.Context) error {
	err := l.http.Shutdown(ctx)
	if err != nil {
		if ctx.Err() != nil {
			inflight := l.server.Stats().Inflight
			err = fmt.Errorf("close %s: calls in flight that were cut: %d: %w", l.addr, inflight, context.Cause(ctx))
		}
		l.server.halt()
		_ = l.http.Close() // its error is that of a listening socket already closed
	}
	<-l.served
	l.conns.Wait()
	return errors.Join(l.serveErr, err)
}

// connState keeps account of connections. net/http calls it in the accept loop for a new connection and
// in the connection's goroutine, as the last thing, for a closed one.
func (l *Listener) connState(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		l.conns.Add(1)
		l.server.run.Load().ledger.Dial()
	case http.StateClosed, http.StateHijacked:
		l.conns.Done()
	}
}

// listenError says in one line why an address cannot be bound: the operating system's reason without
// the layers around it.
func listenError(addr string, err error) error {
	var (
		errno syscall.Errno
		bad   *net.AddrError
		op    *net.OpError
	)
	switch {
	case errors.As(err, &errno):
		err = errno
	case errors.As(err, &bad):
		err = errors.New(bad.Err)
	case errors.As(err, &op):
		err = op.Err
	}
	return fmt.Errorf("listen %s: %w", addr, err)
}

// debugWriter takes net/http's own complaints, which are about single connections, to the debug log.
type debugWriter struct{ server *Server }

func (d debugWriter) Write(p []byte) (int, error) {
	d.server.log.Debug(strings.TrimSpace(string(p)))
	return len(p), nil
}
