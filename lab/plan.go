package lab

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/retrylab/retrylab/downstream"
	"github.com/retrylab/retrylab/resilience/catalog"
	"go.yaml.in/yaml/v3"
)

//go:embed plans/*.yaml
var plans embed.FS

// Plan is a set of runs to be measured together.
type Plan struct {
	Name         string                  `yaml:"name"`
	Title        string                  `yaml:"title"`
	Cancellation downstream.Cancellation `yaml:"cancellation"` // what the server does with a call whose caller is gone
	Runs         []PlannedRun            `yaml:"runs"`
}

// PlannedRun is one policy against one failure mode.
type PlannedRun struct {
	Number   int            `yaml:"-"` // from 1, in the order of the plan
	Policy   string         `yaml:"policy"`
	Scenario string         `yaml:"scenario"`
	Params   map[string]any `yaml:"params"` // of the scenario; absent ones have their defaults
	Script   string         `yaml:"script"` // absent: the script named as the scenario is

	// Variant tells runs of the same policy and scenario apart.
	Variant      string                   `yaml:"variant"`
	Cancellation *downstream.Cancellation `yaml:"cancellation"` // absent: the plan's
	Env          map[string]string        `yaml:"env"`          // more entries of the script's __ENV
}

// Name is the run's published name: the policy's and the scenario's, and its
// variant if it has one.
func (r PlannedRun) Name() string {
	name := r.Policy + "-" + r.Scenario
	if r.Variant != "" {
		name += "-" + r.Variant
	}
	return name
}

// PlanNames lists the built-in plans.
func PlanNames() []string {
	entries, err := fs.ReadDir(plans, "plans")
	if err != nil {
		panic(err) // the folder is embedded
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// BuiltinPlan returns the built-in plan of this name. The error names the
// known ones.
func BuiltinPlan(name string) (Plan, error) {
	data, err := plans.ReadFile(path.Join("plans", name+".yaml"))
	if err != nil {
		return Plan{}, fmt.Errorf("unknown plan %q, known are: %s", name, strings.Join(PlanNames(), ", "))
	}
	return ParsePlan(name+".yaml", data)
}

// ParsePlan reads a plan and checks its policies, scenarios and parameters.
// Source names it in errors, which list every fault.
func ParsePlan(source string, data []byte) (Plan, error) {
	var p Plan
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&p); err != nil {
		return Plan{}, fmt.Errorf("plan %s: %w", source, err)
	}
	var faults []error
	names := make(map[string]bool)
	if p.Name == "" {
		faults = append(faults, errors.New("name: is missing"))
	}
	if len(p.Runs) == 0 {
		faults = append(faults, errors.New("runs: there is none"))
	}
	for i := range p.Runs {
		r := &p.Runs[i]
		r.Number = i + 1
		if r.Script == "" {
			r.Script = r.Scenario + ".js"
		}
		if r.Cancellation == nil {
			r.Cancellation = &p.Cancellation
		}
		if names[r.Name()] {
			faults = append(faults, fmt.Errorf("runs[%d]: %q stands here twice; give one a variant", i, r.Name()))
		}
		names[r.Name()] = true
		if _, err := catalog.Builtin().Lookup(r.Policy); err != nil {
			faults = append(faults, fmt.Errorf("runs[%d].policy: %w", i, err))
		}
		if _, err := downstream.ParseScenario(r.Scenario, r.Params); err != nil {
			faults = append(faults, fmt.Errorf("runs[%d].scenario: %w", i, err))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return Plan{}, fmt.Errorf("plan %s: %w", source, err)
	}
	return p, nil
}

// Only keeps the runs that match one of the patterns: a run's number, or a
// glob of its name. A pattern that matches none is an error.
func (p Plan) Only(patterns []string) (Plan, error) {
	if len(patterns) == 0 {
		return p, nil
	}
	keep := make([]bool, len(p.Runs))
	for _, pattern := range patterns {
		matched := false
		for i, r := range p.Runs {
			ok, err := path.Match(pattern, r.Name())
			if err != nil {
				return Plan{}, fmt.Errorf("only: %q is no pattern: %w", pattern, err)
			}
			if ok || fmt.Sprint(r.Number) == strings.TrimLeft(pattern, "0") {
				keep[i], matched = true, true
			}
		}
		if !matched {
			return Plan{}, fmt.Errorf("only: no run of plan %s matches %q", p.Name, pattern)
		}
	}
	var runs []PlannedRun
	for i, r := range p.Runs {
		if keep[i] {
			runs = append(runs, r)
		}
	}
	p.Runs = runs
	return p, nil
}

// Mode is how long and how hard each run of a plan loads.
type Mode struct {
	Name        string
	VUs         int
	Duration    time.Duration
	Repetitions int
}

// Modes lists the named modes.
func Modes() []Mode {
	return []Mode{
		{Name: "quick", VUs: 40, Duration: 3 * time.Second, Repetitions: 1},
		{Name: "smoke", VUs: 5, Duration: 5 * time.Second, Repetitions: 1},
		{Name: "editorial", VUs: 40, Duration: time.Minute, Repetitions: 3},
	}
}

// LookupMode returns the mode of this name. The error names the known ones.
func LookupMode(name string) (Mode, error) {
	var names []string
	for _, m := range Modes() {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return Mode{}, fmt.Errorf("unknown mode %q, known are: %s", name, strings.Join(names, ", "))
}

// Validate names everything that is wrong with a mode.
func (m Mode) Validate() error {
	var faults []error
	if m.VUs < 1 || m.VUs > 10_000 {
		faults = append(faults, fmt.Errorf("vus: %d is not in 1 … 10000", m.VUs))
	}
	if m.Duration < 100*time.Millisecond || m.Duration > 24*time.Hour {
		faults = append(faults, fmt.Errorf("duration: %v is not in 100ms … 24h", m.Duration))
	}
	if m.Repetitions < 1 || m.Repetitions > 1000 {
		faults = append(faults, fmt.Errorf("reps: %d is not in 1 … 1000", m.Repetitions))
	}
	return errors.Join(faults...)
}
