package modules

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPacerSpacesEvenly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPacer(10)
		start := time.Now()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				for range 4 {
					require.NoError(t, p.Wait(context.Background()))
				}
			})
		}
		wg.Wait()
		assert.Equal(t, 1900*time.Millisecond, time.Since(start), "twenty turns, the first at once")
		time.Sleep(time.Minute)
		start = time.Now()
		require.NoError(t, p.Wait(context.Background()))
		assert.Zero(t, time.Since(start))
		require.NoError(t, p.Wait(context.Background()))
		assert.Equal(t, 100*time.Millisecond, time.Since(start), "turns that nobody took are lost")
	})
}

func TestPacerEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPacer(1)
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		defer cancel()
		require.NoError(t, p.Wait(ctx))
		require.ErrorIs(t, p.Wait(ctx), context.DeadlineExceeded)
	})
	var none *Pacer
	require.NoError(t, none.Wait(context.Background()))
}
