// Package httpcall makes one HTTP attempt of a request: it hands the call to
// the transport, reads the answer, and says what came of it. It is the only
// place among the executors that knows a status code.
package httpcall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/retrylab/retrylab/resilience"
)

// The headers of an attempt. The first two are Envoy's, so that a mesh in
// between understands them.
const (
	HeaderAttempt = "X-Envoy-Attempt-Count"          // the attempt's number, from 1
	HeaderTimeout = "X-Envoy-Expected-Rq-Timeout-Ms" // whole milliseconds until the caller gives up; absent: it does not
	HeaderRequest = "X-Request-Id"                   // joins all attempts of one request
)

// Bounds on answers.
const (
	DefaultMaxBody = 16 << 20  // bytes of a body that are kept
	drainLimit     = 256 << 10 // bytes of a longer body that are read so that its connection can be used again
)

// Request is what every attempt of one request sends.
type Request struct {
	Method string      // "" is GET
	URL    string      // absolute
	Header http.Header // may be nil; is not changed
	Body   []byte      // may be nil; is not changed
	ID     string      // goes into HeaderRequest; "": none is sent
	// MaxBody is how many bytes of the answer are kept. 0: DefaultMaxBody.
	MaxBody int64
}

// Validate names everything in a request that HTTP cannot send, in one joined
// error.
func (r Request) Validate() error {
	var faults []error
	if r.Method != "" && !isToken(r.Method) {
		faults = append(faults, fmt.Errorf("method: %q is not a word of letters, digits and !#$%%&'*+-.^_`|~", r.Method))
	}
	if u, err := url.Parse(r.URL); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		faults = append(faults, fmt.Errorf("%q is not an absolute http or https URL", r.URL))
	}
	for name, values := range r.Header {
		if !isToken(name) {
			faults = append(faults, fmt.Errorf("headers: %q is no name of a header", name))
		}
		for _, v := range values {
			if strings.ContainsFunc(v, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
				faults = append(faults, fmt.Errorf("headers: %s: %q has a control character in it", name, v))
			}
		}
	}
	return errors.Join(faults...)
}

// isToken says whether s is a token of RFC 9110, section 5.6.2.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return c >= utf8.RuneSelf || !(unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("!#$%&'*+-.^_`|~", c))
	})
}

// Response is an answer that arrived, whatever its status.
type Response struct {
	Status     int
	StatusText string // "200 OK"
	Proto      string // "HTTP/1.1"
	URL        string
	Header     http.Header
	Body       []byte
	Truncated  bool // the body was longer than MaxBody
}

// StatusError is the error of an answer whose status is a failure.
type StatusError struct {
	Status int
}

// Error names the status.
func (e *StatusError) Error() string {
	return fmt.Sprintf("status %d %s", e.Status, http.StatusText(e.Status))
}

// Do makes one attempt through transport and reads the answer to its end. It
// follows no redirect: that would be another call. The result's Value is a
// *Response where an answer arrived, else nil.
func Do(ctx context.Context, transport http.RoundTripper, a resilience.Attempt, r Request) resilience.Result {
	method := r.Method
	if method == "" {
		method = http.MethodGet
	}
	request, err := http.NewRequestWithContext(ctx, method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return resilience.Result{Outcome: resilience.Thrown, Err: err}
	}
	// net/http sends a request again by itself where a connection from its pool
	// breaks, if it can: a call that nobody counts, and a retry that no policy
	// asked for. It cannot where there is a body that does not rewind, be it an
	// empty one; of the methods below it sends none then.
	switch {
	case len(r.Body) > 0, method == http.MethodGet, method == http.MethodHead, method == http.MethodOptions, method == http.MethodTrace:
		request.Body = once{bytes.NewReader(r.Body)}
	}
	request.GetBody = nil
	if r.Header != nil {
		request.Header = r.Header.Clone()
		if host := request.Header.Get("Host"); host != "" {
			request.Host = host
		}
	}
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if values, ok := request.Header[name]; ok { // it reads them as leave to send again
			delete(request.Header, name)
			request.Header[strings.ToLower(name)] = values
		}
	}
	setAttemptHeaders(request.Header, a, r.ID)

	answer, err := transport.RoundTrip(request)
	if err != nil {
		return resilience.Result{Outcome: classifyError(err), Err: err}
	}
	response, err := read(answer, r)
	if err != nil {
		return resilience.Result{Outcome: classifyError(err), Err: err, Value: response}
	}
	result := resilience.Result{Value: response, Outcome: ClassifyStatus(response.Status)}
	if result.Outcome != resilience.OK {
		result.Err = &StatusError{Status: response.Status}
		result.RetryAfter = RetryAfter(response.Header, time.Now())
	}
	return result
}

// once is a body that does not rewind, and tells its length.
type once struct{ *bytes.Reader }

func (once) Close() error { return nil }

func setAttemptHeaders(h http.Header, a resilience.Attempt, id string) {
	h.Set(HeaderAttempt, strconv.Itoa(a.Number))
	if a.Timeout > 0 {
		h.Set(HeaderTimeout, strconv.FormatInt(max(a.Timeout.Milliseconds(), 1), 10))
	}
	if id != "" {
		h.Set(HeaderRequest, id)
	}
}

// read takes the answer's body and leaves the connection ready for the next
// call, unless the body is too long to bother.
func read(answer *http.Response, r Request) (*Response, error) {
	defer answer.Body.Close()
	limit := r.MaxBody
	if limit <= 0 {
		limit = DefaultMaxBody
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, limit+1))
	response := &Response{
		Status: answer.StatusCode, StatusText: answer.Status, Proto: answer.Proto,
		URL: r.URL, Header: answer.Header, Body: body,
	}
	if err != nil {
		return response, err
	}
	if int64(len(body)) > limit {
		response.Body, response.Truncated = body[:limit], true
		_, _ = io.CopyN(io.Discard, answer.Body, drainLimit) // a failure here concerns nobody
	}
	return response, nil
}

// ClassifyStatus is the outcome of an answer by its status. What is below 400
// is OK.
func ClassifyStatus(status int) resilience.Outcome {
	switch {
	case status == http.StatusTooManyRequests:
		return resilience.HTTP429
	case status >= 500:
		return resilience.HTTP5xx
	case status >= 400:
		return resilience.HTTP4xx
	}
	return resilience.OK
}

// classifyError is the outcome of an attempt that got no whole answer. The
// executor overrides it where the attempt's context had ended.
func classifyError(err error) resilience.Outcome {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.Is(err, context.Canceled):
		return resilience.Cancelled
	case errors.As(err, &dns),
		errors.As(err, &op) && op.Op == "dial",
		errors.Is(err, syscall.ECONNREFUSED):
		return resilience.Connect
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return resilience.Reset
	case errors.As(err, &op):
		return resilience.Reset
	}
	return resilience.Thrown
}

// RetryAfter reads the header Retry-After, which holds whole seconds or an
// HTTP date (RFC 9110, section 10.2.3). 0: it is absent, in the past, or says
// nothing that can be read.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if value == "" {
		return 0
	}
	if seconds, err := strconv.ParseUint(value, 10, 63); err == nil {
		const most = uint64(1<<63-1) / uint64(time.Second)
		return time.Duration(min(seconds, most)) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(date.Sub(now), 0)
	}
	return 0
}
