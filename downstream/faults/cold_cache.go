package faults

import (
	"sync/atomic"
	"time"

	"github.com/retrylab/retrylab/downstream/queue"
)

// ColdCache answers fast what is in its cache and slowly what is not. The cache is empty at first and
// filled by success: a key enters when a call for it is answered to a client still there, as in a cache
// that the caller fills. Calls that time out warm nothing, so that retries can keep the cache cold. Each
// call asks for one of Keys keys, drawn by seed and n; whether that is a hit depends on what was
// answered before.
type ColdCache struct {
	Keys    int64         // default 1000
	Hit     time.Duration // service time of a hit; default 10 ms
	Miss    time.Duration // service time of a miss; default 400 ms
	Warm    float64       // share of the keys that are cached at first, 0 to 1; default 0
	Servers int64         // calls served at once; 0, the default: no limit

	cached []atomic.Bool // by key; nil: nothing is
}

// Name implements [Fault].
func (*ColdCache) Name() string { return "cold-cache" }

// Doc implements [Fault].
func (*ColdCache) Doc() string {
	return "a cache that starts cold and is filled by successful answers: hits are fast, misses slow"
}

// Declare implements [Fault].
func (f *ColdCache) Declare(p *Params) {
	p.Integer(&f.Keys, "keys", 1000, 1, 1_000_000, "keys that calls ask for, all equally often")
	p.Duration(&f.Hit, "hit", 10*time.Millisecond, 0, MaxDelay, "service time of a hit")
	p.Duration(&f.Miss, "miss", 400*time.Millisecond, 0, MaxDelay, "service time of a miss")
	p.Number(&f.Warm, "warm", 0, 0, 1, "share of the keys that are in the cache at first")
	p.Integer(&f.Servers, "servers", 0, 0, 100_000, "calls served at once; 0: no limit")
}

// Fresh implements [Stateful].
func (f *ColdCache) Fresh() Fault {
	fresh := *f
	fresh.cached = make([]atomic.Bool, f.Keys)
	for k := range int(f.Warm * float64(f.Keys)) {
		fresh.cached[k].Store(true)
	}
	return &fresh
}

// Queue implements [Queuer].
func (f *ColdCache) Queue() (queue.Config, bool) { return servers(f.Servers) }

func (f *ColdCache) key(c Call) int64 { return int64(c.Uniform(StreamKey) * float64(f.Keys)) }

// Plan implements [Fault]. A value that is not [Stateful.Fresh] has nothing in its cache.
func (f *ColdCache) Plan(c Call) Plan {
	if f.cached != nil && f.cached[f.key(c)].Load() {
		return Plan{Delay: f.Hit}
	}
	return Plan{Delay: f.Miss}
}

// Ended implements [Watcher].
func (f *ColdCache) Ended(c Call, ok bool) {
	if ok && f.cached != nil {
		f.cached[f.key(c)].Store(true)
	}
}
