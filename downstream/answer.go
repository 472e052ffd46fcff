package downstream

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/retrylab/retrylab/downstream/faults"
	"github.com/retrylab/retrylab/downstream/stats"
)

// answer writes the ordinary answer of a call.
func answer(w http.ResponseWriter, n uint64, status int, retryAfter time.Duration) {
	b := make([]byte, 0, 48)
	b = append(b, `{"call":`...)
	b = strconv.AppendUint(b, n, 10)
	b = append(b, `,"ok":`...)
	b = strconv.AppendBool(b, status < 400)
	b = append(b, "}\n"...)
	w.Header().Set("Content-Type", "application/json")
	if retryAfter > 0 {
		seconds := (retryAfter + time.Second - 1) / time.Second
		w.Header().Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	w.WriteHeader(status)
	_, _ = w.Write(b) // a client that leaves now has been answered
}

// connKey is the key under which a [Listener] puts a request's connection into its context.
type connKey struct{}

// cut ends the connection without an answer: with a reset over TCP, so that the client is told at once.
func cut(ctx context.Context) {
	if c, ok := ctx.Value(connKey{}).(*net.TCPConn); ok {
		_ = c.SetLinger(0) // if it fails, the connection is closed the ordinary way
	}
	panic(http.ErrAbortHandler)
}

// filler is what long bodies are made of.
var filler = bytes.Repeat([]byte("x"), 32<<10)

// padded returns a reader of a good answer of that many bytes: JSON, with a member "pad" that makes up
// the length. It is never shorter than the answer without padding.
func padded(n uint64, size int64) (io.Reader, int64) {
	head := []byte(`{"call":` + strconv.FormatUint(n, 10) + `,"ok":true,"pad":"`)
	tail := []byte("\"}\n")
	pad := max(0, size-int64(len(head)+len(tail)))
	return io.MultiReader(bytes.NewReader(head), io.LimitReader(endless{}, pad), bytes.NewReader(tail)),
		pad + int64(len(head)+len(tail))
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, filler), nil }

// begin writes the header of a good answer of a given length.
func (p *passage) begin(size int64) {
	p.w.Header().Set("Content-Type", "application/json")
	p.w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	p.w.WriteHeader(http.StatusOK)
}

// pad answers well with a long body, at once.
func (p *passage) pad(size int64) {
	body, size := padded(p.booked.N(), size)
	p.begin(size)
	_, _ = io.Copy(p.w, body)
}

// truncate answers with less body than it announces, and closes the connection.
func (p *passage) truncate(b faults.Body) {
	body, size := padded(p.booked.N(), b.Bytes)
	p.begin(size)
	_, _ = io.CopyN(p.w, body, b.Sent)
	_ = http.NewResponseController(p.w).Flush()
	panic(http.ErrAbortHandler)
}

// stepTime is about how often a slow body is given its next bytes, and maxSteps how often at most.
const (
	stepTime = 20 * time.Millisecond
	maxSteps = 1000
)

// drip answers well with a body that takes its time, and settles the call before its last bytes are
// written.
func (p *passage) drip(b faults.Body) stats.Outcome {
	body, size := padded(p.booked.N(), b.Bytes)
	p.begin(size)
	control := http.NewResponseController(p.w)
	_ = control.Flush()
	steps := min(max(1, int64(b.Over/stepTime)), maxSteps, size)
	began, sent := time.Now(), int64(0)
	for i := int64(1); i <= steps; i++ {
		// Each step waits until its own instant, so that late ones do not add up.
		due := began.Add(time.Duration(float64(b.Over) * float64(i) / float64(steps)))
		last := i == steps
		wait, outcome := time.Until(due), stats.Finished
		if last {
			outcome = p.spend(wait)
		} else {
			outcome = p.spendAnyway(wait)
		}
		if last || outcome != stats.Finished {
			p.settle(outcome)
		}
		if outcome != stats.Finished {
			// An answer that has begun can only be broken off.
			panic(http.ErrAbortHandler)
		}
		upTo := size * i / steps
		if _, err := io.CopyN(p.w, body, upTo-sent); err == nil {
			_ = control.Flush()
		}
		sent = upTo
	}
	return stats.Finished
}
