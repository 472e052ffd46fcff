// Package stats is the ledger of the downstream: it counts what becomes of every call received and how
// much of the server's work was done for callers that had given up.
//
// The ledger is a pure state machine: it takes the time as an argument and holds no clock.
package stats

import "time"

// Outcome is how a call ended: [Finished], [Abandoned], or else the kind of its failure.
type Outcome string

// The outcomes of a call. All but the first two are kinds of failure and keys of [Snapshot.Failed].
const (
	Finished     Outcome = "finished"      // answered well, the client still there
	Abandoned    Outcome = "abandoned"     // the client was known to be gone before the answer
	HTTP4xx      Outcome = "http_4xx"      // answered with a client error other than 429
	HTTP429      Outcome = "http_429"      // answered with 429
	HTTP5xx      Outcome = "http_5xx"      // answered with a server error
	QueueFull    Outcome = "queue_full"    // answered with 503 because the queue was full
	Shed         Outcome = "shed"          // answered with 503 because it had queued for too long
	Refused      Outcome = "refused"       // connection reset on arrival, nothing done
	Reset        Outcome = "reset"         // connection reset in place of an answer
	Hung         Outcome = "hung"          // connection reset after a silence
	Truncated    Outcome = "truncated"     // answered well, but the body was cut short
	ServerClosed Outcome = "server_closed" // cut because the server did not wait for it on closing
	Panicked     Outcome = "panic"         // the handler panicked
)

// Outcomes returns all outcomes. The slice is the caller's.
func Outcomes() []Outcome {
	return []Outcome{
		Finished, Abandoned, HTTP4xx, HTTP429, HTTP5xx, QueueFull, Shed, Refused, Reset, Hung, Truncated, ServerClosed, Panicked,
	}
}

// OutcomeOf returns the outcome of a call that is answered with an HTTP status: [Finished] below 400.
func OutcomeOf(status int) Outcome {
	switch {
	case status < 400:
		return Finished
	case status == 429:
		return HTTP429
	case status < 500:
		return HTTP4xx
	}
	return HTTP5xx
}

// OverdueSlack is how long before its patience runs out a call already counts as overdue in
// [Snapshot.MaxInflightOverdue]: the caller's clock starts before the call reaches the server.
const OverdueSlack = 5 * time.Millisecond

// Snapshot is the ledger at one instant. At every instant
//
//	Received = Finished + sum of Failed + Abandoned + Inflight
//
// Fields that end in _ms in JSON are milliseconds.
type Snapshot struct {
	// Scenario and Seed say what was served. The ledger leaves them for the server to fill.
	Scenario string `json:"scenario"`
	Seed     uint64 `json:"seed"`

	// UptimeMs is the age of the server, CountedMs the time since its last reset, which is the span that
	// all counters cover. The ledger leaves the former for the server to fill.
	UptimeMs  float64 `json:"uptime_ms"`
	CountedMs float64 `json:"counted_ms"`

	// Received counts calls whose header arrived, Retries those of them that said they were a second or
	// later attempt, Started those whose service began.
	Received uint64 `json:"received"`
	Retries  uint64 `json:"retries"`
	Started  uint64 `json:"started"`

	// Finished counts calls answered well, Failed those answered otherwise or cut, by kind; never nil.
	// Abandoned counts calls whose client was known to be gone before the answer, whatever it would
	// have been.
	Finished  uint64            `json:"finished"`
	Failed    map[string]uint64 `json:"failed"`
	Abandoned uint64            `json:"abandoned"`

	// Inflight counts calls received and not ended, MaxInflight the most there were. The latter is an
	// observation of concurrency, never proof of saturation. MaxInflightOverdue says how many of them,
	// when the maximum was first reached, had outlived their caller: its patience had run out (to within
	// [OverdueSlack]) or it was known to be gone. It is why a server sees more calls than a bulkhead at
	// the caller lets out.
	Inflight           int `json:"inflight"`
	MaxInflight        int `json:"max_inflight"`
	MaxInflightOverdue int `json:"max_inflight_overdue"`

	// BusyMs is the time spent serving, summed over calls; ResidualMs the part of it after the caller gave
	// up: when the patience it announced ran out or, if earlier, when it was seen to be gone. DuplicateMs
	// is the part that was done while the caller still waited, but had already been given the answer of
	// another attempt of the same request; only calls that carry a request id can tell. No moment of work
	// is in both; WastedMs is their sum and WastedShare its share of BusyMs (0 if that is 0). All include
	// the work so far of calls in flight. Time in a queue and time spent on rejecting are no work.
	BusyMs      float64 `json:"busy_ms"`
	ResidualMs  float64 `json:"residual_ms"`
	DuplicateMs float64 `json:"duplicate_ms"`
	WastedMs    float64 `json:"wasted_ms"`
	WastedShare float64 `json:"wasted_share"`

	// NoticeMeanMs and NoticeMaxMs say how long after its caller's patience ran out a call's client was
	// seen to be gone, over NoticeCount calls: those that announced their patience and were not given up
	// earlier. LingerMeanMs and LingerMaxMs say for how long a call stayed in flight once its client had
	// been seen to be gone, over LingerCount calls: what ignoring costs. 0 if there were none.
	NoticeCount  uint64  `json:"notice_count"`
	NoticeMeanMs float64 `json:"notice_mean_ms"`
	NoticeMaxMs  float64 `json:"notice_max_ms"`
	LingerCount  uint64  `json:"linger_count"`
	LingerMeanMs float64 `json:"linger_mean_ms"`
	LingerMaxMs  float64 `json:"linger_max_ms"`

	// Dials counts connections accepted.
	Dials uint64 `json:"dials"`

	// Series is the same by the second, oldest first and without gaps; the last is not over yet. It goes
	// back [SeriesLength] seconds at most.
	Series []Second `json:"series"`
}

// ms is a duration as a number of milliseconds.
func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
