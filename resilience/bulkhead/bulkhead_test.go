package bulkhead_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/retrylab/retrylab/resilience/bulkhead"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNeverMoreThanMaxAndAllComeBack(t *testing.T) {
	b, err := bulkhead.New(bulkhead.Config{MaxConcurrent: 3})
	require.NoError(t, err)
	var running, refused atomic.Int32
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 200 {
				if !b.TryAcquire() {
					refused.Add(1)
					continue
				}
				if n := running.Add(1); n > 3 {
					t.Errorf("%d run at once", n)
				}
				running.Add(-1)
				b.Release()
			}
		})
	}
	wg.Wait()
	assert.Equal(t, 3, b.Available())
}

func TestFullRefuses(t *testing.T) {
	b, err := bulkhead.New(bulkhead.Config{MaxConcurrent: 1})
	require.NoError(t, err)
	assert.True(t, b.TryAcquire())
	assert.False(t, b.TryAcquire())
	b.Release()
	assert.True(t, b.TryAcquire())
}

func TestReleaseWithoutAcquirePanics(t *testing.T) {
	b, err := bulkhead.New(bulkhead.Config{MaxConcurrent: 1})
	require.NoError(t, err)
	assert.Panics(t, b.Release)
}

func TestValidate(t *testing.T) {
	_, err := bulkhead.New(bulkhead.Config{})
	assert.ErrorContains(t, err, "maxConcurrent: 0 is not at least 1")
}

// Once the second Leave said that the ticket had a permit.
func TestTicketThatLeavesTwiceHasNoPermit(t *testing.T) {
	b, err := bulkhead.New(bulkhead.Config{MaxConcurrent: 1, MaxWait: 1})
	require.NoError(t, err)
	require.True(t, b.TryAcquire())
	ticket := b.Join()
	assert.False(t, b.Leave(ticket))
	assert.False(t, b.Leave(ticket))
	b.Release()
	assert.Equal(t, 1, b.Available())
}
