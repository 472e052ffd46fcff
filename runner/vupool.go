package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/retrylab/retrylab/runner/executor"
	"github.com/retrylab/retrylab/runner/modules"
	"github.com/retrylab/retrylab/runner/vu"
)

// vuPool makes the virtual users of a run and lends them to its scenarios. It
// is safe for concurrent use.
type vuPool struct {
	shared *vu.Shared
	script *modules.Script
	free   chan executor.VU
	ids    atomic.Uint64
	made   atomic.Int64

	mu   sync.Mutex
	all  []*vu.VU
	data setupData
}

var _ executor.Pool = (*vuPool)(nil)

// newVUPool returns a pool that will hold most virtual users at the most.
func newVUPool(shared *vu.Shared, script *modules.Script, most int) *vuPool {
	return &vuPool{shared: shared, script: script, free: make(chan executor.VU, most)}
}

// fill makes n virtual users, on as many goroutines as there are processors.
func (p *vuPool) fill(ctx context.Context, n int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var next atomic.Int64
	var once sync.Once
	var failure error
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			for next.Add(1) <= int64(n) && ctx.Err() == nil {
				v, err := p.Make(ctx)
				if err != nil {
					once.Do(func() { failure = err })
					cancel()
					return
				}
				p.free <- v
			}
		})
	}
	wg.Wait()
	return failure
}

// Make makes one more virtual user, which is lent with it.
func (p *vuPool) Make(ctx context.Context) (executor.VU, error) {
	id := p.ids.Add(1)
	v, err := vu.New(ctx, p.shared, id, p.script)
	if err != nil {
		return nil, fmt.Errorf("VU %d: %w", id, describe(err))
	}
	p.mu.Lock()
	p.all = append(p.all, v)
	v.Prepare(p.data)
	p.mu.Unlock()
	p.made.Add(1)
	return v, nil
}

// describe is a script's error with its stack in its text.
func describe(err error) error {
	var aborted *modules.Aborted
	if errors.As(err, &aborted) {
		return err
	}
	return errors.New(vu.Describe(err))
}

// Get waits for a virtual user that nobody has.
func (p *vuPool) Get(ctx context.Context) (executor.VU, bool) {
	select {
	case v := <-p.free:
		return v, true
	case <-ctx.Done():
		return nil, false
	}
}

// Put gives a virtual user back.
func (p *vuPool) Put(v executor.VU) { p.free <- v }

// prepare sets what the functions of all virtual users get, those included
// that are made later.
func (p *vuPool) prepare(data setupData) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.data = data
	for _, v := range p.all {
		v.Prepare(data)
	}
}

// close closes all virtual users, which nobody must have any more.
func (p *vuPool) close() {
	for _, v := range p.all {
		v.Close()
	}
}
