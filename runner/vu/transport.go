package vu

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// Net is how a virtual user reaches servers.
type Net struct {
	// InsecureSkipTLSVerify accepts any certificate.
	InsecureSkipTLSVerify bool
	// NoConnectionReuse makes a new connection for each request.
	NoConnectionReuse bool
	// NoVUConnectionReuse closes idle connections after each iteration.
	NoVUConnectionReuse bool
}

// wire counts the bytes of a VU's connections.
type wire struct{ sent, received atomic.Int64 }

type countedConn struct {
	net.Conn
	wire *wire
}

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.wire.received.Add(int64(n))
	return n, err
}

func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.wire.sent.Add(int64(n))
	return n, err
}

// newTransport is a VU's own connection pool.
func newTransport(n Net, w *wire) *http.Transport {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &countedConn{Conn: c, wire: w}, nil
		},
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: n.InsecureSkipTLSVerify}, // the user's own option
		TLSHandshakeTimeout: 30 * time.Second,
		DisableKeepAlives:   n.NoConnectionReuse,
		DisableCompression:  true, // k6 asks for none on its own
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     90 * time.Second,
	}
}
