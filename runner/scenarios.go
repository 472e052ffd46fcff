package runner

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/retrylab/retrylab/runner/executor"
)

// Scenario is one entry of the option scenarios.
type Scenario struct {
	Name      string
	Executor  executor.Executor
	StartTime time.Duration
	// Exec is the exported function that its iterations call; empty means
	// default.
	Exec      string
	Env, Tags map[string]string
}

// A scenario's name, by k6's rule.
var scenarioName = regexp.MustCompile(`^[0-9a-zA-Z_-]+$`)

// object reads an object of options one field after the other. What nobody
// asked for is a fault: a typing error must not run another load than was meant.
type object struct {
	path   string
	raw    map[string]any
	asked  map[string]bool
	faults []error
}

func (f *object) fault(key string, err error) {
	if err != nil {
		f.faults = append(f.faults, fmt.Errorf("%s.%s: %w", f.path, key, err))
	}
}

// get is a field's value, nil where there is none.
func (f *object) get(key string) any {
	f.asked[key] = true
	return f.raw[key]
}

func (f *object) integer(key string, def int64) int64 {
	p := &def
	if v := f.get(key); v != nil {
		if err := integer(&p, v); err != nil {
			f.fault(key, err)
			return max(def, 1) // so that one fault is not told twice
		}
	}
	return *p
}

func (f *object) duration(key string, def time.Duration) time.Duration {
	p := &def
	if v := f.get(key); v != nil {
		if err := duration(&p, v); err != nil {
			f.fault(key, err)
			return max(def, executor.MinLength)
		}
		if *p < 0 {
			f.fault(key, fmt.Errorf("%s is negative", *p))
		}
	}
	return *p
}

// required is a field's value; it is a fault if there is none.
func (f *object) required(keys ...string) {
	for _, key := range keys {
		if f.get(key) == nil {
			f.fault(key, errors.New("is missing"))
		}
	}
}

// unknown names the fields that nobody asked for.
func (f *object) unknown() {
	for _, key := range slices.Sorted(maps.Keys(f.raw)) {
		if !f.asked[key] {
			f.fault(key, fmt.Errorf("is unknown; want %s", strings.Join(slices.Sorted(maps.Keys(f.asked)), ", ")))
		}
	}
}

// scenarios reads the option scenarios. Its error names every fault.
func scenarios(v any) ([]Scenario, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is no object of scenarios", show(v))
	}
	out := make([]Scenario, 0, len(m)) // not nil: an empty object was given
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(m)) {
		raw, ok := m[name].(map[string]any)
		if !ok {
			faults = append(faults, fmt.Errorf("%q: %s is no scenario", name, show(m[name])))
			continue
		}
		if !scenarioName.MatchString(name) {
			faults = append(faults, fmt.Errorf("%q is no name of a scenario: want letters, digits, _ and -", name))
			continue
		}
		s, errs := scenarioOf(name, raw)
		out, faults = append(out, s), append(faults, errs...)
	}
	return out, errors.Join(faults...)
}

func scenarioOf(name string, raw map[string]any) (Scenario, []error) {
	f := &object{path: name, raw: raw, asked: make(map[string]bool)}
	s := Scenario{Name: name, StartTime: f.duration("startTime", 0)}
	var err error
	if v := f.get("exec"); v != nil {
		exec := new(string)
		f.fault("exec", text(&exec, v))
		if s.Exec = *exec; s.Exec == "" {
			f.fault("exec", errors.New("is empty"))
		}
	}
	if v := f.get("env"); v != nil {
		s.Env, err = pairs(v)
		f.fault("env", err)
	}
	if v := f.get("tags"); v != nil {
		s.Tags, err = pairs(v)
		f.fault("tags", err)
	}
	if f.get("options") != nil {
		f.fault("options", errors.New("is for k6/browser, which is not in the built-in runner; use a k6 build (see README)"))
	}
	grace := f.duration("gracefulStop", gracefulStop)
	kind, _ := f.get("executor").(string)
	switch kind {
	case "shared-iterations":
		s.Executor = executor.SharedIterations{
			VUs: f.integer("vus", 1), Total: f.integer("iterations", 1),
			MaxDuration: f.duration("maxDuration", maxDuration), GracefulStop: grace,
		}
	case "per-vu-iterations":
		s.Executor = executor.PerVUIterations{
			VUs: f.integer("vus", 1), Each: f.integer("iterations", 1),
			MaxDuration: f.duration("maxDuration", maxDuration), GracefulStop: grace,
		}
	case "constant-vus":
		f.required("duration")
		s.Executor = executor.ConstantVUs{
			VUs: f.integer("vus", 1), Duration: f.duration("duration", executor.MinLength), GracefulStop: grace,
		}
	case "ramping-vus":
		s.Executor = executor.RampingVUs{
			StartVUs: f.integer("startVUs", 1), Stages: f.stages(),
			GracefulRampDown: f.duration("gracefulRampDown", gracefulStop), GracefulStop: grace,
		}
	case "constant-arrival-rate":
		f.required("rate", "duration", "preAllocatedVUs")
		pre := f.integer("preAllocatedVUs", 1)
		s.Executor = executor.ArrivalRate{
			Constant: true, TimeUnit: f.duration("timeUnit", time.Second),
			Stages:          []executor.Stage{{Duration: f.duration("duration", executor.MinLength), Target: f.integer("rate", 1)}},
			PreAllocatedVUs: pre, MaxVUs: f.integer("maxVUs", max(pre, 1)), GracefulStop: grace,
		}
	case "ramping-arrival-rate":
		f.required("preAllocatedVUs")
		pre := f.integer("preAllocatedVUs", 1)
		s.Executor = executor.ArrivalRate{
			StartRate: f.integer("startRate", 0), TimeUnit: f.duration("timeUnit", time.Second), Stages: f.stages(),
			PreAllocatedVUs: pre, MaxVUs: f.integer("maxVUs", max(pre, 1)), GracefulStop: grace,
		}
	case "externally-controlled":
		f.fault("executor", errors.New(`"externally-controlled" is not in the built-in runner, nor in k6 since its version 2`))
		return s, f.faults
	default:
		f.fault("executor", fmt.Errorf("%s is none of %s", show(raw["executor"]), strings.Join(executor.Executors(), ", ")))
		return s, f.faults
	}
	f.unknown()
	if len(f.faults) == 0 {
		f.faults = under(name, s.Executor.Validate())
	}
	return s, f.faults
}

// under puts a path before each error of a joined one.
func under(path string, err error) (out []error) {
	for _, e := range unjoin(err) {
		out = append(out, fmt.Errorf("%s.%w", path, e))
	}
	return out
}

// unjoin splits an error of errors.Join.
func unjoin(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

func (f *object) stages() []executor.Stage {
	v := f.get("stages")
	if v == nil {
		f.fault("stages", errors.New("is missing"))
		return nil
	}
	out, err := stages(v)
	f.fault("stages", err)
	return out
}

// stages reads a list of stages: objects with duration and target or, from the
// environment and flags, text like `10s:5,1m:20`.
func stages(v any) ([]executor.Stage, error) {
	if s, ok := v.(string); ok {
		return textStages(s)
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%s is no list of stages", show(v))
	}
	out := make([]executor.Stage, len(list))
	var faults []error
	for i, e := range list {
		raw, ok := e.(map[string]any)
		if !ok {
			faults = append(faults, fmt.Errorf("[%d]: %s is no stage", i, show(e)))
			continue
		}
		f := &object{path: fmt.Sprintf("[%d]", i), raw: raw, asked: make(map[string]bool)}
		f.required("duration", "target")
		out[i] = executor.Stage{Duration: f.duration("duration", 0), Target: f.integer("target", 0)}
		f.unknown()
		faults = append(faults, f.faults...)
	}
	return out, errors.Join(faults...)
}

func textStages(s string) ([]executor.Stage, error) {
	var out []executor.Stage
	var faults []error
	for _, part := range strings.Split(s, ",") {
		before, after, ok := strings.Cut(part, ":")
		d, err := ParseDuration(before)
		var target *int64
		if !ok || err != nil || integer(&target, after) != nil {
			faults = append(faults, fmt.Errorf("%q is no stage: want text like \"30s:10\"", part))
			continue
		}
		out = append(out, executor.Stage{Duration: d, Target: *target})
	}
	return out, errors.Join(faults...)
}

// Plan is the scenarios that the options amount to: those that were given, or
// the one that vus, duration, iterations and stages stand for. Without any of
// them it is one iteration of one virtual user. Its error names every fault.
func (o Options) Plan() ([]Scenario, error) {
	var given []string
	for _, g := range []struct {
		name string
		is   bool
	}{{"stages", len(o.Stages) > 0}, {"scenarios", o.Scenarios != nil}} {
		if g.is {
			given = append(given, g.name)
		}
	}
	switch {
	case o.Iterations != nil:
		given = append([]string{"iterations"}, given...)
	case o.Duration != nil:
		given = append([]string{"duration"}, given...)
	}
	if len(given) > 1 {
		return nil, fmt.Errorf("%s and %s are two ways to say how much load there is: give one", given[0], given[1])
	}
	vus := int64(or(o.VUs, 1))
	var e executor.Executor
	switch {
	case o.Iterations != nil:
		e = executor.SharedIterations{VUs: vus, Total: *o.Iterations, MaxDuration: or(o.Duration, maxDuration), GracefulStop: gracefulStop}
	case o.Duration != nil:
		e = executor.ConstantVUs{VUs: vus, Duration: *o.Duration, GracefulStop: gracefulStop}
	case len(o.Stages) > 0:
		e = executor.RampingVUs{StartVUs: vus, Stages: o.Stages, GracefulRampDown: gracefulStop, GracefulStop: gracefulStop}
	case o.VUs != nil:
		e = executor.SharedIterations{VUs: vus, Total: vus, MaxDuration: maxDuration, GracefulStop: gracefulStop}
	case len(o.Scenarios) > 0:
		return o.Scenarios, nil
	default:
		e = executor.PerVUIterations{VUs: 1, Each: 1, MaxDuration: maxDuration, GracefulStop: gracefulStop}
	}
	return []Scenario{{Name: "default", Executor: e}}, e.Validate()
}
