package faults

import (
	"net/http"
	"time"

	"github.com/retrylab/retrylab/downstream/queue"
)

// Outage answers well after Delay, except during a window of the scenario's age.
type Outage struct {
	Start    time.Duration // age of the scenario at which the window begins; default 0
	Duration time.Duration // length of the window; 0, the default: without end
	Mode     string        // what happens in the window: "503" (default), "refuse", "reset", "hang", "stall"
	Delay    time.Duration // service time outside of the window; default 50 ms
	Hang     time.Duration // how long "hang" is silent; default 30 s
	Servers  int64         // calls served at once; 0, the default: no limit
}

// Name implements [Fault].
func (*Outage) Name() string { return "outage" }

// Doc implements [Fault].
func (*Outage) Doc() string {
	return "during a window calls are refused, reset, answered with 503, left hanging, or stalled and kept"
}

// Declare implements [Fault].
func (f *Outage) Declare(p *Params) {
	p.Duration(&f.Start, "start", 0, 0, MaxDelay, "age of the scenario at which the outage begins")
	p.Duration(&f.Duration, "duration", 0, 0, MaxDelay, "length of the outage; 0: as long as the scenario")
	p.Choice(&f.Mode, "mode", "503", []string{"refuse", "reset", "503", "hang", "stall"}, "what happens to calls in the outage")
	p.Duration(&f.Delay, "delay", 50*time.Millisecond, 0, MaxDelay, "service time outside of the outage, and before a reset")
	p.Duration(&f.Hang, "hang", 30*time.Second, 0, MaxDelay, "mode hang: silence before the connection is reset")
	p.Integer(&f.Servers, "servers", 0, 0, 100_000, "calls served at once; 0: no limit")
}

func (f *Outage) left(at time.Duration) time.Duration { return window{f.Start, f.Duration}.left(at) }

// Admit implements [Admitter].
func (f *Outage) Admit(c Call) (Plan, bool) {
	if f.left(c.At) == 0 {
		return Plan{}, true
	}
	switch f.Mode {
	case "refuse":
		return Plan{End: Refused}, false
	case "503":
		return Plan{Status: http.StatusServiceUnavailable}, false
	}
	return Plan{}, true
}

// Queue implements [Queuer]. A stall needs a queue even where the number of servers has no limit.
func (f *Outage) Queue() (queue.Config, bool) {
	if f.Mode == "stall" && f.Servers == 0 {
		return servers(unlimited)
	}
	return servers(f.Servers)
}

// Stalled implements [Staller].
func (f *Outage) Stalled(at time.Duration) time.Duration {
	if f.Mode != "stall" {
		return 0
	}
	return f.left(at)
}

// Plan implements [Fault].
func (f *Outage) Plan(c Call) Plan {
	if f.left(c.At) > 0 {
		switch f.Mode {
		case "reset":
			return Plan{Delay: f.Delay, End: Reset}
		case "hang":
			return Plan{Delay: f.Hang, End: Hung}
		}
	}
	return Plan{Delay: f.Delay}
}
