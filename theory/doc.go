// Package theory holds closed forms for what a run should show, so that a
// measured figure can stand beside an expected one.
//
// Every formula states its preconditions. Where a run breaks them the answer is
// an [Expectation] outside the model, with the reason, and never a number: an
// expected value that does not apply is worse than none.
//
// The package is pure: it reads no clock, no files and no randomness, and all of
// it is safe for concurrent use.
package theory
