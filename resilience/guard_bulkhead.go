package resilience

import (
	"context"

	"github.com/retrylab/retrylab/resilience/bulkhead"
)

// BulkheadGuard bounds how many calls run at once and refuses those above.
type BulkheadGuard struct {
	bulkhead.Config
}

// Kind is "bulkhead".
func (BulkheadGuard) Kind() string { return "bulkhead" }

func (g BulkheadGuard) layer(*Policy) layer {
	b, err := bulkhead.New(g.Config)
	if err != nil {
		panic(err) // New has validated every guard
	}
	return &bulkheadLayer{b}
}

type bulkheadLayer struct {
	bulkhead *bulkhead.Bulkhead
}

func (l *bulkheadLayer) run(ctx context.Context, r *request, rest []layer) Result {
	if !l.bulkhead.TryAcquire() {
		return r.reject(errBulkheadFull)
	}
	defer l.bulkhead.Release()
	return r.next(ctx, rest)
}
