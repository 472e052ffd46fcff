// Package metrics registers the metrics of a run, carries samples from the
// virtual users to one aggregator, and keeps the aggregates (sinks) that
// thresholds and the summary read.
//
// A sample costs its producer one append under a lock that only the
// aggregator shares with it, and that a few times a second: every virtual user
// has a [Buffer] of its own, the [Engine] empties all of them in turn.
package metrics
