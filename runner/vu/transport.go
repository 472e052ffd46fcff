package vu

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/retrylab/retrylab/runner/modules"
	"github.com/retrylab/retrylab/runner/vu/http1"
)

// Net is how a virtual user reaches servers.
type Net struct {
	// InsecureSkipTLSVerify accepts any certificate.
	InsecureSkipTLSVerify bool
	// NoConnectionReuse makes a new connection for each request.
	NoConnectionReuse bool
	// NoVUConnectionReuse closes idle connections after each iteration.
	NoVUConnectionReuse bool
	// MinTLS and MaxTLS are the first and last acceptable version of TLS as
	// crypto/tls numbers them; 0 leaves the choice to crypto/tls.
	MinTLS, MaxTLS uint16
	// CipherSuites are those for TLS 1.2 and older; nil means the default ones.
	CipherSuites []uint16
	// Certificates are shown to servers that ask for one of their authority.
	Certificates []tls.Certificate
	// Hosts are addresses for names; port 0 keeps the port that was asked for.
	Hosts Hostnames[netip.AddrPort]
	// BlockedHosts are not connected to, whatever their address.
	BlockedHosts Hostnames[string]
	// BlockedIPs are not connected to, whatever their name.
	BlockedIPs []netip.Prefix
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

// NetConn is the connection whose bytes are counted.
func (c *countedConn) NetConn() net.Conn { return c.Conn }

// newTransport is a VU's own connection pool.
func newTransport(n Net, w *wire) *http1.Transport {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	if len(n.BlockedIPs) > 0 {
		dialer.Control = func(_, addr string, _ syscall.RawConn) error { return n.checkIP(addr) }
	}
	return http1.New(&http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			addr, err := n.resolve(addr)
			if err != nil {
				return nil, &net.OpError{Op: "dial", Net: network, Err: err}
			}
			c, err := dialer.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &countedConn{Conn: c, wire: w}, nil
		},
		TLSClientConfig: &tls.Config{
			InsecureSkipVerify: n.InsecureSkipTLSVerify, // the user's own option
			MinVersion:         n.MinTLS, MaxVersion: n.MaxTLS,
			CipherSuites:  n.CipherSuites,
			Certificates:  n.Certificates,
			Renegotiation: tls.RenegotiateFreelyAsClient, // as k6
		},
		TLSHandshakeTimeout: 30 * time.Second,
		DisableKeepAlives:   n.NoConnectionReuse,
		DisableCompression:  true, // k6 asks for none on its own
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     90 * time.Second,
	})
}

// resolve is the address to dial for a name and port: another one if Hosts
// says so, an error if the name is blocked.
func (n Net) resolve(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	if _, err := netip.ParseAddr(host); err != nil {
		if pattern, ok := n.BlockedHosts.Find(host); ok {
			return "", fmt.Errorf("%w: %q matches %q", modules.ErrBlockedHost, host, pattern)
		}
	}
	if to, ok := n.Hosts.Find(addr); ok {
		return withPort(to, port), nil
	}
	if to, ok := n.Hosts.Find(host); ok {
		return withPort(to, port), nil
	}
	return addr, nil
}

func withPort(to netip.AddrPort, port string) string {
	if to.Port() != 0 {
		return to.String()
	}
	return net.JoinHostPort(to.Addr().String(), port)
}

// checkIP is an error if the address is of a blocked network.
func (n Net) checkIP(addr string) error {
	to, err := netip.ParseAddrPort(addr)
	if err != nil {
		return err
	}
	for _, block := range n.BlockedIPs {
		if ip := to.Addr().Unmap().WithZone(""); block.Contains(ip) {
			return fmt.Errorf("%w: %s is in %s", modules.ErrBlockedIP, ip, block)
		}
	}
	return nil
}
