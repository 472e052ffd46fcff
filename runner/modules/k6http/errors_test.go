package k6http

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		text string
	}{
		{errors.New("stream error: stream ID 1; INTERNAL_ERROR; received from peer"), 1633, "http2: stream error with http2 ErrCode INTERNAL_ERROR"},
		{&url.Error{Err: errors.New("stream error: stream ID 3; REFUSED_STREAM")}, 1638, "http2: stream error with http2 ErrCode REFUSED_STREAM"},
		{errors.New("stream error: stream ID 3; unknown error code 0x63; received from peer"), 1630, "http2: stream error with http2 ErrCode unknown error code 0x63"},
		{errors.New("connection error: PROTOCOL_ERROR"), 1652, "http2: connection error with http2 ErrCode PROTOCOL_ERROR"},
		{errors.New(`http2: server sent GOAWAY and closed the connection; LastStreamID=1, ErrCode=ENHANCE_YOUR_CALM, debug=""`), 1622, "http2: received GoAway with http2 ErrCode ENHANCE_YOUR_CALM"},
		{errors.New("stream error: "), 1000, "stream error: "},
		{&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "x", IsNotFound: true}}, 1101, "lookup: no such host"},
		{&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "server misbehaving", Name: "x"}}, 1100, "lookup x: server misbehaving"},
		{&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "slow", Name: "x", IsTimeout: true}}, 1211, "dial: i/o timeout"},
		{&net.OpError{Op: "read", Net: "unix", Err: errors.New("odd")}, 1010, "read unix: odd"},
		{&net.OpError{Op: "read", Net: "tcp", Err: errors.New("odd")}, 1200, "read tcp: odd"},
		{&net.OpError{Op: "dial", Net: "tcp", Err: errors.New("odd")}, 1210, "dial tcp: odd"},
		{fmt.Errorf("outer: %w", errors.New("inner")), 1000, "inner"},
	} {
		code, text := classify(c.err)
		assert.Equal(t, c.code, code, c.err.Error())
		assert.Equal(t, c.text, text)
	}
}

func FuzzParseChallenge(f *testing.F) {
	for _, s := range []string{`Digest realm="r", nonce="n", qop="auth,auth-int"`, `Digest a=b,c`, `Digest ="`, `Basic x`, `Digest a="b`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, header string) {
		c, ok := parseChallenge(header)
		if !ok {
			return
		}
		_, _ = c.answer("GET", "/", url.UserPassword("a", "b"), "c")
	})
}
