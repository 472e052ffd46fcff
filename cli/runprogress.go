package cli

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retrylab/retrylab/runner"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// runProgress shows how far a run is: a bar for each scenario on a terminal, a
// line every ten seconds elsewhere.
type runProgress struct {
	s *session

	mu    sync.Mutex
	bars  *mpb.Progress // nil: no bar is drawn now
	lines []*runLine    // one a scenario
}

// runLine is a bar and the text after it, which is drawn on another goroutine.
type runLine struct {
	bar  *mpb.Bar
	text atomic.Value // string
}

// Write writes to stderr, above the bar where there is one.
func (p *runProgress) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bars != nil {
		return p.bars.Write(data)
	}
	return p.s.Err.Write(data)
}

const plainProgress = 10 * time.Second

func (p *runProgress) interval() time.Duration {
	if isTerminal(p.s.Err) {
		return 0 // the runner's own
	}
	return plainProgress
}

func (p *runProgress) show(status runner.Status) {
	if status.Phase != runner.Running {
		p.finish() // before teardown and the summary write anything
		return
	}
	if !isTerminal(p.s.Err) {
		if status.Elapsed >= plainProgress/2 { // the first one tells nothing
			fmt.Fprintf(p.s.Err, "running %s/%s, %d of %d VUs, %d iterations\n",
				status.Elapsed.Round(100*time.Millisecond), status.Total, status.Active, status.VUs, status.Iterations)
		}
		return
	}
	const steps = 1000
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bars == nil {
		p.bars = mpb.New(mpb.WithOutput(p.s.Err), mpb.WithWidth(40))
		for range status.Scenarios {
			line := &runLine{}
			line.bar = p.bars.AddBar(steps, mpb.BarRemoveOnComplete(),
				mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return fmt.Sprint(" ", line.text.Load()) })))
			p.lines = append(p.lines, line)
		}
	}
	for i, s := range status.Scenarios {
		text := fmt.Sprintf("%s %s, %d VUs, %d iterations", s.Name, status.Elapsed.Round(100*time.Millisecond), s.Active, s.Iterations)
		if i == len(status.Scenarios)-1 { // the last line is of the whole run too
			text += fmt.Sprintf(" · of %s, %d VUs made", status.Total, status.Ready)
		}
		p.lines[i].text.Store(text)
		p.lines[i].bar.SetCurrent(min(int64(s.Progress*steps), steps-1)) // complete only once the run is over
	}
}

// finish takes the bars away.
func (p *runProgress) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bars == nil {
		return
	}
	for _, line := range p.lines {
		line.bar.Abort(true)
	}
	p.bars.Wait()
	p.bars, p.lines = nil, nil
}
