// Package scripts holds the k6 scenarios, so that the program carries the
// ones it was built with.
package scripts

import "embed"

// FS has the scenarios at its root and what they share in lib.
//
//go:embed *.js lib/*.js
var FS embed.FS
