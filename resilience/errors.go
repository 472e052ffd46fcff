package resilience

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// TimeoutError is the error of an attempt, or of a request, that a timeout
// guard ended, and the cause of the context that it cancelled.
type TimeoutError struct {
	Limit time.Duration
}

// Error names the limit.
func (e *TimeoutError) Error() string { return fmt.Sprintf("timed out after %v", e.Limit) }

// Timeout is true, as net.Error has it.
func (e *TimeoutError) Timeout() bool { return true }

// Unwrap lets errors.Is find context.DeadlineExceeded.
func (e *TimeoutError) Unwrap() error { return context.DeadlineExceeded }

// RejectedError is the error of an attempt that a guard refused.
type RejectedError struct {
	By Outcome // one for which Rejected is true
}

// Error names the guard's reason.
func (e *RejectedError) Error() string { return "rejected: " + e.By.String() }

// The rejections carry nothing of their own, so that refusing costs nothing.
var (
	errBreakerOpen  = &RejectedError{By: BreakerOpen}
	errBulkheadFull = &RejectedError{By: BulkheadFull}
	errRateLimited  = &RejectedError{By: RateLimited}
	errThrottled    = &RejectedError{By: Throttled}
)

// errLost is why a call was cancelled whose hedge, or which as a hedge, was
// not the first to answer.
var errLost = errors.New("another call of the same request answered first")

// InterruptedError is the error of a request that was ended while it waited
// for its next attempt. errors.Is finds both what ended it and why the last
// attempt had failed.
type InterruptedError struct {
	Reason error // the context's cause: a *TimeoutError of an outer guard, or the caller's own
	Last   error // the error of the last attempt
}

// Error tells both.
func (e *InterruptedError) Error() string {
	return fmt.Sprintf("interrupted while waiting to retry: %v; last attempt: %v", e.Reason, e.Last)
}

// Unwrap gives both to errors.Is and errors.As.
func (e *InterruptedError) Unwrap() []error { return []error{e.Reason, e.Last} }

// OutcomeError is the error of an attempt that failed without an error of its
// own.
type OutcomeError struct {
	Outcome Outcome
}

// Error names the outcome.
func (e *OutcomeError) Error() string { return "attempt failed: " + e.Outcome.String() }

// FallbackError is the error of a request whose fallback failed too.
type FallbackError struct {
	Fallback error // what the fallback failed with
	Last     error // why it was asked
}

// Error tells both.
func (e *FallbackError) Error() string {
	return fmt.Sprintf("fallback failed: %v; it was asked because: %v", e.Fallback, e.Last)
}

// Unwrap gives both to errors.Is and errors.As.
func (e *FallbackError) Unwrap() []error { return []error{e.Fallback, e.Last} }
