package faults

import (
	"time"

	"github.com/retrylab/retrylab/downstream/queue"
)

// Overload serves a finite number of calls at once and lets others queue. A call that finds the queue
// full is answered with 503. Service is a timer and not CPU time, so that the capacity is the same on
// every machine. How long a call waits depends on the load; its service time only on seed and n.
type Overload struct {
	capacity
	Discipline string        // who is next: "fifo" (default), "lifo", "codel", "deadline"
	Target     time.Duration // of codel; default 5 ms
	Interval   time.Duration // of codel; default 100 ms
	RejectCost time.Duration // of a server's time for each 503 on full; default 0
}

// Name implements [Fault].
func (*Overload) Name() string { return "overload" }

// Doc implements [Fault].
func (*Overload) Doc() string {
	return "a finite number of servers with a queue before them; a full queue answers 503"
}

// Declare implements [Fault].
func (f *Overload) Declare(p *Params) {
	f.declare(p, "exponential")
	p.Choice(&f.Discipline, "discipline", "fifo", queue.Disciplines(), "who is served next")
	p.Duration(&f.Target, "target", 5*time.Millisecond, 0, MaxDelay, "codel: wait that is tolerated for long")
	p.Duration(&f.Interval, "interval", 100*time.Millisecond, time.Millisecond, MaxDelay, "codel: for how long a longer wait is tolerated")
	p.Duration(&f.RejectCost, "rejectCost", 0, 0, MaxDelay, "time that a rejection takes, of the caller's and of a server's")
}

// Queue implements [Queuer].
func (f *Overload) Queue() (queue.Config, bool) {
	d, _ := queue.ParseDiscipline(f.Discipline)
	return queue.Config{
		Servers: int(f.Servers), Limit: int(f.QueueLimit), Discipline: d,
		Target: f.Target, Interval: f.Interval, Service: f.Service, RejectCost: f.RejectCost,
	}, true
}

// Plan implements [Fault].
func (f *Overload) Plan(c Call) Plan { return Plan{Delay: f.service(c)} }
