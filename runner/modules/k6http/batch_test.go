package k6http

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestNoMoreAtOnceThanTheBoundsAllow(t *testing.T) {
	hosts := []string{"a", "a", "a", "b", "a", "b", "b", "b", "c", "a"}
	for _, c := range []struct {
		all, perHost     int
		most, mostOfHost int
		took             time.Duration // each takes a second
	}{
		{1, 0, 1, 1, 10 * time.Second},
		{3, 0, 3, 3, 4 * time.Second},
		{20, 2, 5, 2, 3 * time.Second},
		{20, 1, 3, 1, 5 * time.Second},
		{20, 0, 10, 5, time.Second},
		{20, 6, 10, 5, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			now, ofHost, done := 0, map[string]int{}, make([]int, len(hosts))
			most, mostOfHost := 0, 0
			begin := time.Now()
			atOnce(hosts, c.all, c.perHost, func(i int) {
				count := func(by int) {
					mu.Lock()
					defer mu.Unlock()
					now, ofHost[hosts[i]] = now+by, ofHost[hosts[i]]+by
					most, mostOfHost = max(most, now), max(mostOfHost, ofHost[hosts[i]])
				}
				count(1)
				time.Sleep(time.Second)
				count(-1)
				mu.Lock()
				done[i]++
				mu.Unlock()
			})
			assert.Equal(t, []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, done)
			assert.Equal(t, c.most, most, "%+v", c)
			assert.Equal(t, c.mostOfHost, mostOfHost, "%+v", c)
			assert.Equal(t, c.took, time.Since(begin), "%+v", c)
		})
	}
}
