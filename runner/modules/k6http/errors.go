package k6http

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/retrylab/retrylab/runner/modules"
)

// k6's error codes of requests without an answer. An answer with a status of
// 400 or more has the code 1000 + status.
const (
	codeGeneric         = 1000
	codeNonTCP          = 1010
	codeInvalidURL      = 1020
	codeTimeout         = 1050
	codeDNS             = 1100
	codeDNSNoHost       = 1101
	codeBlockedIP       = 1110
	codeBlockedHost     = 1111
	codeTCP             = 1200
	codeBrokenPipe      = 1201
	codeUnknownErrno    = 1202
	codeDial            = 1210
	codeDialTimeout     = 1211
	codeDialRefused     = 1212
	codeDialErrno       = 1213
	codeReset           = 1220
	codeTLS             = 1300
	codeTLSHeader       = 1301
	codeUnknownIssuer   = 1310
	codeWrongHost       = 1311
	codeGoAway          = 1610 // and 1611 + HTTP/2's code, as the next two
	codeStream          = 1630
	codeConnection      = 1650
	codeUndecodableBody = 1701
)

// codedError is an error whose code is known where it happens.
type codedError struct {
	code int
	text string
}

func (e *codedError) Error() string { return e.text }

// classify is k6's code and text for why a request has no answer.
func classify(err error) (code int, text string) {
	var coded *codedError
	if errors.As(err, &coded) {
		return coded.code, coded.text
	}
	switch {
	case errors.Is(err, modules.ErrBlockedIP):
		return codeBlockedIP, modules.ErrBlockedIP.Error()
	case errors.Is(err, modules.ErrBlockedHost):
		return codeBlockedHost, modules.ErrBlockedHost.Error()
	}
	var op *net.OpError
	isOp := errors.As(err, &op)
	var nerr net.Error
	if errors.As(err, &nerr) && nerr.Timeout() {
		if isOp && op.Op == "dial" {
			return codeDialTimeout, "dial: i/o timeout"
		}
		return codeTimeout, "request timeout"
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		if dns.IsNotFound {
			return codeDNSNoHost, "lookup: no such host"
		}
		return codeDNS, dns.Error()
	}
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) {
		return codeUnknownIssuer, "x509: unknown authority"
	}
	var host x509.HostnameError
	if errors.As(err, &host) {
		return codeWrongHost, "x509: certificate doesn't match hostname"
	}
	var header tls.RecordHeaderError
	if errors.As(err, &header) {
		return codeTLSHeader, header.Error()
	}
	var verify *tls.CertificateVerificationError
	var alert tls.AlertError
	if errors.As(err, &verify) || errors.As(err, &alert) {
		return codeTLS, err.Error()
	}
	if isOp {
		return classifyOp(op)
	}
	// What net/http wraps no OpError around.
	switch {
	case errors.Is(err, syscall.ECONNRESET):
		return codeReset, "read: connection reset by peer"
	case errors.Is(err, syscall.EPIPE):
		return codeBrokenPipe, "write: broken pipe"
	}
	text = innermost(err).Error()
	if code, text, ok := classifyHTTP2(text); ok {
		return code, text
	}
	return codeGeneric, text
}

// http2Errors are the names of HTTP/2's error codes, from 0 (RFC 9113).
var http2Errors = [...]string{
	"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
	"FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
	"INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
}

// classifyHTTP2 knows net/http's errors of HTTP/2 by their texts, since it
// does not export their types.
func classifyHTTP2(text string) (int, string, bool) {
	var base int
	var kind, name string
	if rest, ok := strings.CutPrefix(text, "stream error: "); ok { // stream ID 1; NAME; cause
		base, kind = codeStream, "stream error"
		_, name, _ = strings.Cut(rest, "; ")
		name, _, _ = strings.Cut(name, ";")
	} else if rest, ok := strings.CutPrefix(text, "connection error: "); ok { // NAME
		base, kind, name = codeConnection, "connection error", rest
	} else if rest, ok := strings.CutPrefix(text, "http2: server sent GOAWAY"); ok { // …, ErrCode=NAME, …
		base, kind = codeGoAway, "received GoAway"
		_, name, _ = strings.Cut(rest, "ErrCode=")
		name, _, _ = strings.Cut(name, ",")
	}
	if name == "" {
		return 0, "", false
	}
	text = fmt.Sprintf("http2: %s with http2 ErrCode %s", kind, name)
	if i := slices.Index(http2Errors[:], name); i >= 0 {
		return base + 1 + i, text, true
	}
	return base, text, true
}

func classifyOp(op *net.OpError) (int, string) {
	if op.Net != "tcp" && op.Net != "tcp4" && op.Net != "tcp6" {
		return codeNonTCP, op.Error()
	}
	var sys *os.SyscallError
	var errno syscall.Errno
	hasErrno := errors.As(op.Err, &errno)
	switch {
	case hasErrno && errno == syscall.ECONNRESET:
		return codeReset, op.Op + ": connection reset by peer"
	case hasErrno && errno == syscall.EPIPE:
		return codeBrokenPipe, op.Op + ": broken pipe"
	case op.Op != "dial" && hasErrno && !errors.As(op.Err, &sys):
		return codeUnknownErrno, op.Error()
	case op.Op != "dial":
		return codeTCP, op.Error()
	case hasErrno && errno == syscall.ECONNREFUSED:
		return codeDialRefused, "dial: connection refused"
	case hasErrno:
		return codeDialErrno, op.Error()
	}
	return codeDial, op.Error()
}

func innermost(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}
