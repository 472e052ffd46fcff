package faults

import "time"

// SlowBody sends the header of a good answer after Delay and then its body a little at a time.
type SlowBody struct {
	Delay time.Duration // before the header; default 50 ms
	Bytes int64         // length of the body; default 16384
	Over  time.Duration // time over which the body comes; default 2 s
	Rate  float64       // share of calls whose body is slow, 0 to 1; default 1
}

// Name implements [Fault].
func (*SlowBody) Name() string { return "slow-body" }

// Doc implements [Fault].
func (*SlowBody) Doc() string { return "the header comes soon, the body drips over a long time" }

// Declare implements [Fault].
func (f *SlowBody) Declare(p *Params) {
	p.Duration(&f.Delay, "delay", 50*time.Millisecond, 0, MaxDelay, "service time before the header")
	p.Integer(&f.Bytes, "bytes", 16_384, 64, 64<<20, "length of the body")
	p.Duration(&f.Over, "over", 2*time.Second, 0, MaxDelay, "time over which a slow body is sent, in even steps")
	p.Number(&f.Rate, "rate", 1, 0, 1, "share of calls whose body is slow")
}

// Plan implements [Fault].
func (f *SlowBody) Plan(c Call) Plan {
	p := Plan{Delay: f.Delay, Body: Body{Bytes: f.Bytes}}
	if c.Uniform(StreamBody) < f.Rate {
		p.Body.Over = f.Over
	}
	return p
}
