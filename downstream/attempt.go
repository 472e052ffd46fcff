package downstream

import (
	"net/http"
	"strconv"
	"time"
)

// Headers by which a caller says what an attempt is to it. The names are Envoy's, so that a mesh in
// between understands them.
const (
	// HeaderAttempt is the number of the attempt within its request, from 1.
	HeaderAttempt = "X-Envoy-Attempt-Count"
	// HeaderPatience is how many milliseconds the caller is going to wait for the answer; 0: for ever.
	HeaderPatience = "X-Envoy-Expected-Rq-Timeout-Ms"
	// HeaderRequestID joins all attempts of one request.
	HeaderRequestID = "X-Request-Id"
)

// attempt is what a call says about itself. A header that is missing or makes no sense is a zero field:
// a measuring server does not turn calls away for it.
type attempt struct {
	number    uint64
	patience  time.Duration
	requestID string
}

func readAttempt(h http.Header) attempt {
	a := attempt{requestID: h.Get(HeaderRequestID)}
	if n, err := strconv.ParseUint(h.Get(HeaderAttempt), 10, 32); err == nil {
		a.number = n
	}
	// 32 bits of milliseconds are 49 days and cannot overflow a duration.
	if ms, err := strconv.ParseUint(h.Get(HeaderPatience), 10, 32); err == nil {
		a.patience = time.Duration(ms) * time.Millisecond
	}
	return a
}
