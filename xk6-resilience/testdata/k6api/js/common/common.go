// Package common is what modules share.
package common

import "go.k6.io/k6/v2/lib"

// InitEnvironment is there while the script's init code runs.
type InitEnvironment struct {
	*lib.TestPreInitState
}

// Events are those of the process and of the VU. Nothing here has any.
type Events struct{}
