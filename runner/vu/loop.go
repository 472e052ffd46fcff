package vu

import (
	"context"
	"sync"
)

// loop is the event loop of one virtual user: tasks come from any goroutine
// and run one after the other on the one that called run.
type loop struct {
	mu      sync.Mutex
	queue   []func() error
	pending int    // reserved places that were not used yet
	gen     uint64 // a place of an earlier generation does nothing
	wake    chan struct{}
}

func newLoop() *loop { return &loop{wake: make(chan struct{}, 1)} }

// reserve takes a place on the loop. The returned function uses it: the first
// call counts, from any goroutine.
func (l *loop) reserve() func(task func() error) {
	l.mu.Lock()
	l.pending++
	gen := l.gen
	l.mu.Unlock()
	var once sync.Once
	return func(task func() error) {
		once.Do(func() {
			l.mu.Lock()
			if gen == l.gen {
				l.pending--
				l.queue = append(l.queue, task)
			}
			l.mu.Unlock()
			select {
			case l.wake <- struct{}{}:
			default:
			}
		})
	}
}

// run calls first and then tasks until no place is left. After an error no
// more tasks run, but the places that are taken are waited for; onError is
// called in between, to give up those that can be. When ctx ends run returns at
// once and forgets them.
func (l *loop) run(ctx context.Context, first func() error, onError func()) error {
	err := first()
	failed := false
	for {
		if err != nil && !failed {
			failed = true
			onError()
		}
		l.mu.Lock()
		if ctx.Err() != nil {
			l.gen++
			l.pending, l.queue = 0, nil
			l.mu.Unlock()
			if err == nil {
				err = context.Cause(ctx)
			}
			return err
		}
		tasks, pending := l.queue, l.pending
		l.queue = nil
		l.mu.Unlock()
		for _, task := range tasks {
			if failed || ctx.Err() != nil {
				break
			}
			if err = task(); err != nil {
				break
			}
		}
		if len(tasks) > 0 {
			continue
		}
		if pending == 0 {
			return err
		}
		select {
		case <-l.wake:
		case <-ctx.Done():
		}
	}
}
