// Package bulkhead bounds how many calls run at once.
package bulkhead

import (
	"errors"
	"fmt"
	"sync"
)

// Config of a bulkhead.
type Config struct {
	MaxConcurrent int // calls at once; at least 1
}

// Validate names everything that is wrong with c, in one joined error.
func (c Config) Validate() error {
	if c.MaxConcurrent < 1 {
		return errors.Join(fmt.Errorf("maxConcurrent: %d is not at least 1", c.MaxConcurrent))
	}
	return nil
}

// Bulkhead hands out a fixed number of permits. It may be used by many
// goroutines at once.
type Bulkhead struct {
	mu   sync.Mutex
	max  int
	used int
}

// New returns a bulkhead with all its permits. It fails where c is not valid.
func New(c Config) (*Bulkhead, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Bulkhead{max: c.MaxConcurrent}, nil
}

// TryAcquire takes a permit if there is one. Each must be given back once by
// [Bulkhead.Release].
func (b *Bulkhead) TryAcquire() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used == b.max {
		return false
	}
	b.used++
	return true
}

// Release gives a permit back. It panics where none is out, which is an error
// of the caller that would let too many calls in later.
func (b *Bulkhead) Release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used == 0 {
		panic("bulkhead: release without acquire")
	}
	b.used--
}

// Available is the number of permits that nobody holds.
func (b *Bulkhead) Available() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.max - b.used
}
