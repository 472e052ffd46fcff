package runner

import (
	"time"

	"github.com/retrylab/retrylab/runner/executor"
	"github.com/retrylab/retrylab/runner/metrics"
)

// tags are those of what the run itself samples.
func (r *run) tags() *metrics.TagSet {
	tags := r.shared.Registry.Root()
	for k, v := range r.options.Tags {
		tags = tags.With(k, v)
	}
	return tags
}

// emitVUs returns what emits the gauges of virtual users. It also warns of tags
// that take too many values.
func (r *run) emitVUs() func() {
	buffer, b, tags := r.shared.Engine.NewBuffer(), r.shared.Builtin, r.tags()
	most := manyTagSets
	return func() {
		if n := r.shared.Registry.TagSets(); n >= most {
			most *= 2
			r.log.Warnf("there are %d different sets of tags, which are all kept: give requests to many URLs one name (tags: {name}, or http.url)", n)
		}
		at, status := time.Now().UnixNano(), r.status()
		buffer.Push(r.hard,
			metrics.Sample{Metric: b.VUs, Tags: tags, Time: at, Value: float64(status.Active)},
			metrics.Sample{Metric: b.VUsMax, Tags: tags, Time: at, Value: float64(status.Ready)},
		)
	}
}

// emitDropped returns what emits the iterations that a scenario dropped.
func (r *run) emitDropped(s *executor.Scenario) func(int64) {
	buffer := r.shared.Engine.NewBuffer()
	return func(n int64) {
		tags := r.tags()
		for k, v := range s.Tags {
			tags = tags.With(k, v)
		}
		tags = r.shared.Settings.SystemTags.Add(tags, "scenario", s.Name)
		buffer.Push(r.hard, metrics.Sample{
			Metric: r.shared.Builtin.DroppedIterations, Tags: tags, Time: time.Now().UnixNano(), Value: float64(n),
		})
	}
}

// every calls f at an interval on a goroutine of its own, until stop.
func every(interval time.Duration, f func()) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(interval)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				f()
			case <-quit:
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}
