package summary

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/retrylab/retrylab/runner/metrics"
)

// Part is the share of a run that one group or scenario has. A scenario's part
// has all of its samples, a group's those of the group itself and not of the
// groups in it.
type Part struct {
	Name      string
	Metrics   []Metric
	Checks    []Check // in the order in which they were seen
	Groups    []*Part // in the order in which they were seen
	Scenarios []*Part // by name; only the whole run has them
}

// Collector adds up the samples of each scenario and group, for the mode full:
// attach it to the engine. It takes the memory of a sink for each metric in
// each of them. Its zero value is ready. Call its methods inside of the engine's
// View, or before and after the engine runs.
type Collector struct {
	run share
	of  map[*metrics.TagSet][]*share
}

var _ metrics.Output = (*Collector)(nil)

// share is a part that is being added up.
type share struct {
	name      string
	sinks     map[*metrics.Metric]metrics.Sink
	checks    []*Check
	groups    []*share
	scenarios []*share
}

// Add takes samples in.
func (c *Collector) Add(samples []metrics.Sample) {
	if c.of == nil {
		c.of = make(map[*metrics.TagSet][]*share)
	}
	for i := range samples {
		s := &samples[i]
		shares, ok := c.of[s.Tags]
		if !ok {
			shares = c.shares(s.Tags)
			c.of[s.Tags] = shares
		}
		for _, sh := range shares {
			sh.add(s)
		}
	}
}

// shares are the parts that samples with these tags belong to. As in k6, the
// scenario `default` is the run itself, and setup and teardown are no groups.
func (c *Collector) shares(tags *metrics.TagSet) []*share {
	var out []*share
	in := &c.run
	if name, ok := tags.Get("scenario"); ok && name != "default" {
		in = child(&c.run.scenarios, name)
		out = append(out, in)
	}
	path, _ := tags.Get("group")
	path = strings.TrimPrefix(path, "::")
	if path == "" || path == "setup" || path == "teardown" {
		return out
	}
	for _, name := range strings.Split(path, "::") {
		in = child(&in.groups, name)
	}
	return append(out, in)
}

func child(list *[]*share, name string) *share {
	for _, s := range *list {
		if s.name == name {
			return s
		}
	}
	s := &share{name: name, sinks: make(map[*metrics.Metric]metrics.Sink)}
	*list = append(*list, s)
	return s
}

func (sh *share) add(s *metrics.Sample) {
	sink := sh.sinks[s.Metric]
	if sink == nil {
		sink = metrics.NewSink(s.Metric.Kind)
		sh.sinks[s.Metric] = sink
	}
	sink.Add(s.Value, s.Time)
	name, ok := s.Tags.Get("check")
	if !ok || s.Metric.Name != "checks" {
		return
	}
	i := slices.IndexFunc(sh.checks, func(c *Check) bool { return c.Name == name })
	if i < 0 {
		i = len(sh.checks)
		sh.checks = append(sh.checks, &Check{Name: name})
	}
	if s.Value != 0 {
		sh.checks[i].Passes++
	} else {
		sh.checks[i].Fails++
	}
}

// Part is what has been added up of a run of this length.
func (c *Collector) Part(trendStats []string, run time.Duration) *Part {
	return c.run.part(trendStats, run)
}

func (sh *share) part(stats []string, run time.Duration) *Part {
	p := &Part{Name: sh.name}
	byName := func(a, b *metrics.Metric) int { return strings.Compare(a.Name, b.Name) }
	for _, m := range slices.SortedFunc(maps.Keys(sh.sinks), byName) {
		p.Metrics = append(p.Metrics, metric(m, sh.sinks[m], stats, run))
	}
	for _, c := range sh.checks {
		p.Checks = append(p.Checks, *c)
	}
	for _, g := range sh.groups {
		p.Groups = append(p.Groups, g.part(stats, run))
	}
	for _, s := range sh.scenarios {
		p.Scenarios = append(p.Scenarios, s.part(stats, run))
	}
	slices.SortFunc(p.Scenarios, func(a, b *Part) int { return strings.Compare(a.Name, b.Name) })
	return p
}
