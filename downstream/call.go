package downstream

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/retrylab/retrylab/downstream/bounded"
	"github.com/retrylab/retrylab/downstream/faults"
	"github.com/retrylab/retrylab/downstream/queue"
	"github.com/retrylab/retrylab/downstream/stats"
)

// outcomes of the ends that are not an answer.
var ends = map[faults.End]stats.Outcome{
	faults.Refused: stats.Refused, faults.Reset: stats.Reset, faults.Hung: stats.Hung, faults.Truncated: stats.Truncated,
}

// verdict is how a call ends.
type verdict struct {
	outcome   stats.Outcome
	status    int         // of the answer; 0: there is none
	complaint string      // what was wrong with the call itself; "": nothing
	plan      faults.Plan // how to answer
}

func answered(p faults.Plan) verdict {
	if o, ok := ends[p.End]; ok {
		return verdict{outcome: o, status: http.StatusOK, plan: p}
	}
	if p.Status == 0 {
		p.Status = http.StatusOK
	}
	return verdict{outcome: stats.OutcomeOf(p.Status), status: p.Status, plan: p}
}

// passage is one call on its way through the pipeline.
type passage struct {
	*Server
	w      http.ResponseWriter
	r      *http.Request
	ctx    context.Context
	who    attempt
	regime *regime
	booked *stats.Call
	at     *stage // the scenario that the call met
	served bool   // service began
}

// call books one call around its way through the pipeline.
func (s *Server) call(w http.ResponseWriter, r *http.Request) {
	run, now := s.run.Load(), time.Now()
	who := readAttempt(r.Header)
	p := &passage{
		Server: s, w: w, r: r, ctx: r.Context(), who: who, regime: run.regime, at: run.regime.at(now),
		booked: run.ledger.Receive(now, stats.Arrival{Patience: who.patience, Retry: who.number > 1, Request: who.requestID}),
	}
	v := verdict{outcome: stats.Panicked}
	defer func() {
		if v.outcome == stats.Panicked {
			p.settle(v.outcome)
		}
	}()
	v = p.pass(now)
	if v.outcome == stats.Finished && v.plan.Body.Over > 0 {
		v.outcome = p.drip(v.plan.Body)
		return
	}
	// Settled before the first byte of the answer is written: a client that has its answer never finds
	// its own call still in flight.
	p.settle(v.outcome)
	switch {
	case v.outcome == stats.Abandoned:
		// Nobody is there to be answered.
	case v.outcome == stats.ServerClosed:
		panic(http.ErrAbortHandler) // ends the connection without an answer
	case v.complaint != "":
		writeError(w, v.status, v.complaint)
	case v.plan.End == faults.Truncated:
		p.truncate(v.plan.Body)
	case v.plan.End != faults.Answered:
		cut(p.ctx)
	case v.plan.Body.Bytes > 0:
		p.pad(v.plan.Body.Bytes)
	default:
		answer(w, p.booked.N(), v.status, v.plan.RetryAfter)
	}
}

// settle books the end of the call.
func (p *passage) settle(o stats.Outcome) {
	if watcher, ok := p.at.fault.(faults.Watcher); ok && p.served {
		watcher.Ended(p.named(time.Time{}), o == stats.Finished)
	}
	p.booked.End(time.Now(), o)
	if debugs(p.log) {
		p.log.WithFields(logrus.Fields{
			"call": p.booked.N(), "attempt": p.who.number, "request_id": p.who.requestID, "outcome": o,
		}).Debug("call ended")
	}
}

// named is the call as faults know it, at an instant.
func (p *passage) named(now time.Time) faults.Call {
	c := faults.Call{N: p.booked.N(), Seed: p.regime.cfg.Seed}
	if !now.IsZero() {
		c.At = max(0, now.Sub(p.at.from))
	}
	return c
}

// pass takes a call through the pipeline: admit, queue, serve.
func (p *passage) pass(arrived time.Time) verdict {
	plan, admitted := faults.Plan{}, true
	if door, ok := p.at.fault.(faults.Admitter); ok {
		plan, admitted = door.Admit(p.named(arrived))
		if plan.End == faults.Refused {
			return answered(plan) // like a process that is not there, it does not read either
		}
	}
	if v, bad := p.readBody(); bad {
		return v
	}
	if !admitted {
		return answered(plan)
	}
	if p.ctx.Err() != nil {
		p.booked.Gone(time.Now())
		if p.regime.cfg.Cancellation != Ignore {
			return verdict{outcome: p.lost()}
		}
	}
	if p.at.queue != nil {
		t := &queue.Ticket{}
		// Also when a fault panics: a server that is never given back would be gone for good.
		defer p.at.queue.Done(t)
		if v, over := p.enqueue(t, arrived); over {
			return v
		}
	}
	now := time.Now()
	plan = p.at.fault.Plan(p.named(now))
	p.booked.Start(now)
	p.served = true
	if outcome := p.spend(plan.Delay); outcome != stats.Finished {
		return verdict{outcome: outcome}
	}
	return answered(plan)
}

// readBody reads the body to its end, within [MaxBody]. bad says that the call ends here.
func (p *passage) readBody() (v verdict, bad bool) {
	status, err := bounded.ReadBody(io.Discard, p.w, p.r, MaxBody)
	if err == nil {
		return verdict{}, false
	}
	var network net.Error
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network) {
		return verdict{outcome: p.lost()}, true
	}
	return verdict{outcome: stats.HTTP4xx, status: status, complaint: err.Error()}, true
}

// enqueue waits for a server. over says that the call ends here.
func (p *passage) enqueue(t *queue.Ticket, arrived time.Time) (v verdict, over bool) {
	q := p.at.queue
	if p.who.patience > 0 {
		t.Deadline = arrived.Add(p.who.patience)
	}
	if p.regime.cfg.Cancellation != Ignore {
		t.Gone = func() bool { return p.ctx.Err() != nil }
	}
	state := q.Enter(t)
	gone := p.ctx.Done()
	for state == queue.Waiting {
		select {
		case <-t.Ready():
			state = q.Settled(t)
		case <-gone:
			p.booked.Gone(time.Now())
			if p.regime.cfg.Cancellation == MidWork {
				return verdict{outcome: p.lost()}, true
			}
			gone = nil
		case <-p.halted:
			return verdict{outcome: p.cutOff(gone == nil)}, true
		}
	}
	switch state {
	case queue.Full:
		if outcome := p.spend(p.at.rejectCost); outcome != stats.Finished {
			return verdict{outcome: outcome}, true
		}
		return verdict{outcome: stats.QueueFull, status: http.StatusServiceUnavailable}, true
	case queue.Shed:
		if p.ctx.Err() != nil {
			return verdict{outcome: p.lost()}, true
		}
		return verdict{outcome: stats.Shed, status: http.StatusServiceUnavailable}, true
	case queue.Gone:
		p.booked.Gone(time.Now())
		return verdict{outcome: p.lost()}, true
	}
	// A server that has rejections to do first does them before it serves.
	if outcome := p.spendAnyway(t.Cost()); outcome != stats.Finished {
		return verdict{outcome: outcome}, true
	}
	return verdict{}, false
}

// spend is busy for d, or less if it is cut. It returns [stats.Finished] if the client is still there at
// the end.
func (p *passage) spend(d time.Duration) stats.Outcome {
	if o := p.spendAnyway(d); o != stats.Finished {
		return o
	}
	if p.ctx.Err() != nil {
		return p.lost()
	}
	return stats.Finished
}

// spendAnyway is spend for what is not the end of the work: under [Ignore] and [AtDequeue] it returns
// [stats.Finished] also if the client has gone.
func (p *passage) spendAnyway(d time.Duration) stats.Outcome {
	if d <= 0 {
		return stats.Finished
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	gone := p.ctx.Done()
	for {
		select {
		case <-timer.C:
			return stats.Finished
		case <-gone:
			p.booked.Gone(time.Now())
			if p.regime.cfg.Cancellation == MidWork {
				return p.lost()
			}
			gone = nil // only the timer and the halt are left to wait for
		case <-p.halted:
			return p.cutOff(gone == nil)
		}
	}
}

// cutOff is the outcome of a call that the halt ends.
func (p *passage) cutOff(gone bool) stats.Outcome {
	if gone {
		return stats.Abandoned
	}
	return stats.ServerClosed
}

// lost returns the outcome of a call whose connection has ended: by the client or by a halt.
func (s *Server) lost() stats.Outcome {
	select {
	case <-s.halted:
		return stats.ServerClosed
	default:
		return stats.Abandoned
	}
}
