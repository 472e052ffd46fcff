package faults

import (
	"fmt"
	"time"
)

// PartialBody announces a body of Bytes bytes in a good answer, sends the first Sent of them and closes
// the connection.
type PartialBody struct {
	Delay time.Duration // before the header; default 50 ms
	Bytes int64         // length that is announced; default 16384
	Sent  int64         // bytes that come, fewer than Bytes; default 1024
	Rate  float64       // share of calls whose body is cut, 0 to 1; default 1
}

// Name implements [Fault].
func (*PartialBody) Name() string { return "partial-body" }

// Doc implements [Fault].
func (*PartialBody) Doc() string {
	return "the header promises more body than comes before the connection is closed"
}

// Declare implements [Fault].
func (f *PartialBody) Declare(p *Params) {
	p.Duration(&f.Delay, "delay", 50*time.Millisecond, 0, MaxDelay, "service time before the header")
	p.Integer(&f.Bytes, "bytes", 16_384, 64, 64<<20, "length of the body that is announced")
	p.Integer(&f.Sent, "sent", 1024, 0, 64<<20, "bytes of the body that are sent before the connection is closed")
	p.Number(&f.Rate, "rate", 1, 0, 1, "share of calls whose body is cut")
	p.Check("sent", func() error {
		if f.Sent >= f.Bytes {
			return fmt.Errorf(`"%d" is not below bytes "%d"`, f.Sent, f.Bytes)
		}
		return nil
	})
}

// Plan implements [Fault].
func (f *PartialBody) Plan(c Call) Plan {
	p := Plan{Delay: f.Delay, Body: Body{Bytes: f.Bytes}}
	if c.Uniform(StreamBody) < f.Rate {
		p.End, p.Body.Sent = Truncated, f.Sent
	}
	return p
}
