package faults

import (
	"time"

	"github.com/retrylab/retrylab/downstream/queue"
)

// unlimited is a number of servers, or of places, that is never reached.
const unlimited = 1 << 30

// capacity is what the faults with servers have in common.
type capacity struct {
	Servers      int64         // calls served at once
	Service      time.Duration // mean service time
	Distribution string        // of the service time: "constant" or "exponential"
	QueueLimit   int64         // calls that may wait
}

func (f *capacity) declare(p *Params, distribution string) {
	p.Integer(&f.Servers, "servers", 8, 1, 100_000, "calls served at once")
	p.Duration(&f.Service, "service", 20*time.Millisecond, 0, MaxDelay, "mean service time")
	p.Choice(&f.Distribution, "distribution", distribution, []string{"constant", "exponential"}, "of the service time")
	p.Integer(&f.QueueLimit, "queue", 128, 0, 1_000_000, "calls that may wait; one more is answered with 503")
}

// service returns the service time of a call, a function of seed and n.
func (f *capacity) service(c Call) time.Duration {
	if f.Distribution == "exponential" {
		return c.exponential(f.Service)
	}
	return f.Service
}

// servers returns the queue of a fault that takes 0 servers for as many as there are calls.
func servers(n int64) (queue.Config, bool) {
	return queue.Config{Servers: int(n), Limit: unlimited}, n > 0
}
