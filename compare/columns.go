package compare

import "slices"

// Kind is how the values of a column are written for people.
type Kind int

// The kinds of columns.
const (
	Text      Kind = iota // words
	Count                 // a count; a median of counts may be a fraction
	Share                 // a share in 0 to 1, shown in percent
	Factor                // a quotient such as calls per request
	PerSecond             // events per second
	Millis                // milliseconds
	Points                // a difference of two shares, shown in percentage points
	Extra                 // a difference of two factors, shown with its sign
	Plain                 // a number of a unit that is not known
	Seconds               // a time in seconds
)

// Column is one column of a report. The columns of [Columns] are the ones of the
// files; those of [Summary] make the short tables.
type Column struct {
	// Name is the name in files, stable over versions.
	Name string
	// Title is the heading in tables that have room. Group and Short are the two
	// lines of the heading in tables that have none; neighbours of one Group
	// share it.
	Title, Group, Short string
	// Unit is the unit of the values as written in files; empty for plain numbers
	// and text.
	Unit string
	// Doc is a sentence about the meaning.
	Doc  string
	Kind Kind
	// Better says which way the figure is better, as far as that can be said.
	Better Direction
	// Head says that the column names its row.
	Head bool

	text   func(Row) string
	number func(Run) (float64, bool)
}

// Columns returns the columns of the files in their published order. The caller
// owns the slice.
func Columns() []Column {
	return append(publishedColumns(), ownColumns()...)
}

func publishedColumns() []Column {
	return []Column{
		{Name: "run", Title: "run", Short: "run", Doc: "Number of the run in its plan.", text: Row.number},
		{Name: "policy_scenario", Title: "policy and scenario", Short: "policy and scenario", Head: true, Doc: "Policy and scenario of the run.", text: func(r Row) string { return r.Name }},
		{Name: "total_requests", Title: "requests", Short: "requests", Kind: Count, Doc: "User requests: executions of the policy.", number: Run.requests},
		{Name: "successful_requests", Title: "successful", Kind: Count, Doc: "Requests that got an acceptable answer.", number: Run.successes},
		{Name: "failed_requests", Title: "failed", Kind: Count, Doc: "Requests without an acceptable answer: failed, rejected or degraded.", number: Run.failures},
		{Name: "success_rate", Title: "success", Group: "success", Short: "seen", Better: Higher, Kind: Share, Unit: "share", Doc: "Successful requests / requests.", number: Run.successRate},
		{Name: "error_rate", Title: "errors", Better: Lower, Kind: Share, Unit: "share", Doc: "Failed requests / requests.", number: Run.errorRate},
		{Name: "successful_requests_per_second", Title: "goodput /s", Group: "goodput", Short: "/s", Better: Higher, Kind: PerSecond, Unit: "1/s",
			Doc: "Goodput: successful requests per second of load, setup, graceful stop and teardown included.", number: Run.goodput},
		{Name: "all_attempt_p95_ms", Title: "attempt p95 ms", Group: "attempt", Short: "p95 ms", Better: Lower, Kind: Millis, Unit: "ms",
			Doc: "95th percentile of the time of all attempts, those cut off by the timeout included.", number: trend("resilience_attempt_duration", "p(95)")},
		{Name: "all_attempt_p99_ms", Title: "attempt p99 ms", Better: Lower, Kind: Millis, Unit: "ms", Doc: "99th percentile of the same.", number: trend("resilience_attempt_duration", "p(99)")},
		{Name: "successful_request_p95_ms", Title: "success p95 ms", Better: Lower, Kind: Millis, Unit: "ms",
			Doc: "95th percentile of the time of successful requests, waits and retries included.", number: trend("resilience_success_duration", "p(95)")},
		{Name: "successful_request_p99_ms", Title: "success p99 ms", Better: Lower, Kind: Millis, Unit: "ms", Doc: "99th percentile of the same.", number: trend("resilience_success_duration", "p(99)")},
		{Name: "downstream_calls", Title: "calls sent", Kind: Count, Doc: "Calls handed to the transport, counted by the caller.", number: Run.sent},
		{Name: "retry_amplification_factor", Title: "amplification", Group: "calls/req.", Short: "seen", Better: Lower, Kind: Factor, Unit: "calls/request",
			Doc: "Downstream calls / requests.", number: Run.amplification},
		{Name: "retry_attempts", Title: "retries", Kind: Count, Doc: "Attempts after the first one of their request.", number: Run.retries},
		{Name: "retry_attempts_per_request", Title: "retries / request", Better: Lower, Kind: Factor, Unit: "retries/request", Doc: "Retries / requests.", number: Run.retriesPerRequest},
		{Name: "timeout_count", Title: "timeouts", Group: "timed", Short: "out", Kind: Count, Doc: "Attempts that the caller's timeout cut off.", number: counter("resilience_timeouts")},
		{Name: "circuit_breaker_rejected", Title: "breaker rejected", Kind: Count, Doc: "Attempts that an open circuit breaker refused.", number: counter("resilience_rejected_breaker")},
		{Name: "bulkhead_rejected", Title: "bulkhead rejected", Kind: Count, Doc: "Attempts that a full bulkhead refused.", number: counter("resilience_rejected_bulkhead")},
		{Name: "max_inflight_downstream", Title: "in flight, server", Group: "max in flight", Short: "server", Better: Lower, Kind: Count,
			Doc: "Most calls in flight at once in the server, those whose caller had gone included.", number: Run.maxServer},
		{Name: "concurrency_observation", Title: "concurrency", Doc: "Of max_inflight_downstream: low below 30, moderate from 30, high from 80. An observation, never proof of saturation.", text: Row.concurrency},
		{Name: "k6_http_req_failed_rate", Title: "http_req_failed", Better: Lower, Kind: Share, Unit: "share",
			Doc: "k6's own rate of failed HTTP requests; missing where k6/http made none.", number: Run.httpFailed},
	}
}

func ownColumns() []Column {
	return []Column{
		{Name: "downstream_received", Title: "calls received", Kind: Count, Doc: "Calls counted by the server.", number: Run.received},
		{Name: "received_amplification", Title: "received / request", Kind: Factor, Unit: "calls/request", Better: Lower,
			Doc: "Calls received by the server / requests; behind tiers, what all of them made of one request.", number: Run.receivedAmplification},
		{Name: "admitted_requests", Title: "admitted", Kind: Count, Doc: "Requests that made at least one call: no guard refused all of their attempts.", number: Run.admitted},
		{Name: "admitted_amplification", Title: "calls / admitted", Kind: Factor, Unit: "calls/request", Better: Lower,
			Doc: "Calls sent / requests that made at least one: what a request costs that gets through, where a breaker keeps most of them out.", number: Run.admittedAmplification},
		{Name: "count_difference", Title: "received − sent", Kind: Count, Doc: "Calls received by the server − calls sent by the caller.", number: Run.countDifference},
		{Name: "max_inflight_caller", Title: "in flight, caller", Group: "max in flight", Short: "caller", Kind: Count, Doc: "Most calls that the caller had in flight at once.", number: Run.maxCaller},
		{Name: "max_inflight_overdue", Title: "overdue in flight", Better: Lower, Kind: Count, Doc: "How many of max_inflight_downstream had outlived their caller.", number: Run.overdue},
		{Name: "abandoned", Title: "abandoned", Short: "abandoned", Kind: Count, Doc: "Calls whose caller gave up before the answer.", number: Run.abandoned},
		{Name: "residual_share", Title: "residual work", Better: Lower, Kind: Share, Unit: "share", Group: "work", Short: "residual",
			Doc: "Share of the server's busy time spent on calls after their caller gave up.", number: Run.residualShare},
		{Name: "duplicate_share", Title: "duplicate work", Group: "work", Short: "duplicate", Better: Lower, Kind: Share, Unit: "share",
			Doc: "Share of the server's busy time spent on calls of requests that another call had answered.", number: Run.duplicateShare},
		{Name: "wasted_share", Title: "wasted work", Group: "work", Short: "wasted", Better: Lower, Kind: Share, Unit: "share", Doc: "Residual and duplicate work / busy time.", number: Run.wastedShare},
		{Name: "busy_ms_per_request", Title: "busy ms / request", Group: "busy ms", Short: "/request", Better: Lower, Kind: Millis, Unit: "ms",
			Doc: "The server's busy time / requests.", number: Run.busyPerRequest},
		{Name: "notice_mean_ms", Title: "notice ms", Group: "notice", Short: "ms", Better: Lower, Kind: Millis, Unit: "ms",
			Doc: "Mean time from the end of a caller's patience until the server knew that it had gone.", number: Run.notice},
		{Name: "dials_per_request", Title: "dials / request", Group: "dials", Short: "/request", Better: Lower, Kind: Factor, Unit: "dials/request",
			Doc: "New connections to the server / requests.", number: Run.dialsPerRequest},
		{Name: "recovery_s", Title: "recovery s", Group: "recovery s", Short: "seen", Better: Lower, Kind: Seconds, Unit: "s",
			Doc: "Time from the end of the scenario's dip until 90 % as many calls were answered well as before it, in each of two seconds in a row; missing where there was no dip, or it never was so.", number: Run.recovery},
		{Name: "expected_success_rate", Title: "expected success", Group: "success", Short: "model", Kind: Share, Unit: "share", Doc: "1−pⁿ for independent failures p and n attempts.", number: Run.expectedSuccess},
		{Name: "expected_amplification", Title: "expected amplification", Group: "calls/req.", Short: "model", Kind: Factor, Unit: "calls/request",
			Doc: "(1−pⁿ)/(1−p) for independent failures p and n attempts.", number: Run.expectedAmplification},
		{Name: "expected_recovery_s", Title: "expected recovery s", Group: "recovery s", Short: "model", Kind: Seconds, Unit: "s",
			Doc: "(B−C·T)/(C−n·λ) for the backlog B at the end of the dip, the capacity C, the timeout T, n attempts and the load λ.", number: Run.expectedRecovery},
		{Name: "amplification_deviation", Title: "amplification − expected", Kind: Factor, Unit: "calls/request", Doc: "retry_amplification_factor − expected_amplification.", number: Run.amplificationDeviation},
		{Name: "repetitions", Title: "repetitions", Kind: Count, Doc: "Runs of which the row shows the median.", number: nil},
	}
}

// Summary returns the columns of the short tables. The caller owns the slice.
func Summary() []Column { return pick(summary("policy")...) }

// summary are the names of those columns, with the one that names a row.
func summary(head string) []string {
	return []string{"run", head, "total_requests", "success_rate", "expected_success_rate",
		"retry_amplification_factor", "expected_amplification", "successful_requests_per_second",
		"all_attempt_p95_ms", "timeout_count", "rejected", "max_inflight_caller", "max_inflight_downstream"}
}

// work are the names of the columns about the server's work.
func work(head string) []string {
	return []string{"run", head, "busy_ms_per_request", "residual_share", "duplicate_share", "wasted_share",
		"abandoned", "notice_mean_ms", "dials_per_request", "max_inflight_caller", "max_inflight_downstream"}
}

// dips are the names of the columns about a failure that ends under load.
func dips(head string) []string {
	return []string{"run", head, "success_rate", "retry_amplification_factor", "max_inflight_downstream", "recovery_s", "expected_recovery_s"}
}

// bought are the names of the columns beside a baseline.
func bought(head string) []string {
	return []string{"run", head, "success_rate", "retry_amplification_factor", "extra_success", "extra_calls", "extra_success_per_extra_call"}
}

// DiffColumns returns the columns that a diff judges unless others are asked for:
// figures that do not grow with the load offered. The caller owns the slice.
func DiffColumns() []Column {
	return pick("success_rate", "retry_amplification_factor", "successful_requests_per_second",
		"successful_request_p95_ms", "wasted_share", "max_inflight_downstream")
}

// pick returns the columns of these names, of those in files and of the tables'
// own.
func pick(names ...string) []Column {
	columns := map[string]Column{}
	for _, c := range slices.Concat(Columns(), tables(), baselineColumns()) {
		columns[c.Name] = c
	}
	var out []Column
	for _, name := range names {
		out = append(out, columns[name])
	}
	return out
}

// tables are the columns that only tables for people have, and the one of labs.
func tables() []Column {
	return []Column{
		{Name: "policy", Title: "policy", Short: "policy", Head: true, Doc: "Name of the policy, and the run's variant.", text: Row.PolicyLabel},
		{Name: "scenario", Title: "scenario", Short: "scenario", Head: true, Doc: "Name of the scenario.", text: func(r Row) string { return r.Scenario }},
		{Name: "lab", Title: "lab", Short: "lab", Doc: "The lab of the run, or the label or the folder of its file.", text: func(r Row) string { return r.Lab }},
		{Name: "rejected", Title: "rejected", Short: "rejected", Kind: Count,
			Doc: "Attempts that a guard refused: breaker, bulkhead, rate limit, throttle or budget.", number: Run.rejected},
	}
}

// baselineColumns compare a row with that of the baseline policy in the same
// scenario. Their figures belong to rows and not to runs.
func baselineColumns() []Column {
	return []Column{
		{Name: "extra_success", Title: "extra success", Group: "against the baseline", Short: "success", Kind: Points, Unit: "share", Better: Higher,
			Doc: "Success rate − that of the baseline, in percentage points; ~ where repetitions show no significant difference."},
		{Name: "extra_calls", Title: "extra calls / request", Group: "against the baseline", Short: "calls/req.", Kind: Extra, Unit: "calls/request", Better: Lower,
			Doc: "Amplification − that of the baseline; ~ where repetitions show no significant difference."},
		{Name: "extra_success_per_extra_call", Title: "extra success / extra call", Group: "success per", Short: "extra call", Kind: Points, Unit: "share", Better: Higher,
			Doc: "Extra success / extra calls: what each further call bought, in percentage points. Missing where the policy sends no more calls than the baseline."},
	}
}

func trend(metric, key string) func(Run) (float64, bool) {
	return func(r Run) (float64, bool) { return r.Metrics.value(metric, Trend, key) }
}

func counter(metric string) func(Run) (float64, bool) {
	return func(r Run) (float64, bool) { return r.Metrics.ours(metric) }
}
