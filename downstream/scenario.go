package downstream

import (
	"fmt"
	"maps"
	"strings"

	"github.com/retrylab/retrylab/downstream/faults"
)

// Scenario is a failure mode with its parameters. Make one with [ParseScenario]; the zero Scenario is
// none and [New] refuses it. A Scenario does not change and may be shared.
type Scenario struct {
	fault  faults.Fault
	params map[string]any
	text   string
}

// ScenarioInfo describes a scenario for help texts and listings.
type ScenarioInfo struct {
	Name   string             `json:"name"`
	Doc    string             `json:"doc"` // one line
	Params []faults.ParamInfo `json:"params"`
}

// Scenarios describes all scenarios there are, in the order in which to show them. The slice is the
// caller's.
func Scenarios() []ScenarioInfo {
	all := faults.All()
	infos := make([]ScenarioInfo, len(all))
	for i, f := range all {
		var p faults.Params
		f.Declare(&p)
		infos[i] = ScenarioInfo{Name: f.Name(), Doc: f.Doc(), Params: p.Infos()}
	}
	return infos
}

// ParseScenario returns the scenario of that name with the given parameters, by their camelCase names.
// Values may come from flags (all text), JSON or JS: a duration is text with a unit ("220ms", "1.5s") or
// a number of milliseconds, a number may be text. What is absent or nil keeps its default, so nil params
// are all defaults. The error joins one line for every fault found, each with its path
// (`random-failures.failureRate: "2" is outside 0..1`).
func ParseScenario(name string, params map[string]any) (Scenario, error) {
	for _, f := range faults.All() {
		if f.Name() != name {
			continue
		}
		var p faults.Params
		f.Declare(&p)
		if err := p.Set(name, params); err != nil {
			return Scenario{}, err
		}
		return Scenario{fault: f, params: p.Effective(), text: strings.Join(append([]string{name}, p.Changed()...), " ")}, nil
	}
	return Scenario{}, fmt.Errorf("unknown scenario %q; known are %s", name, scenarioNames())
}

// With returns the scenario with some parameters changed, as by [ParseScenario], and the others as they
// are.
func (s Scenario) With(params map[string]any) (Scenario, error) {
	all := make(map[string]any)
	if s.fault != nil {
		var p faults.Params
		for _, f := range faults.All() {
			if f.Name() == s.fault.Name() {
				f.Declare(&p)
			}
		}
		for i, key := range p.Keys() {
			if name := p.Infos()[i].Name; params[name] == nil && params[key] == nil {
				all[name] = s.params[key]
			}
		}
	}
	maps.Copy(all, params)
	return ParseScenario(s.Name(), all)
}

func scenarioNames() string {
	var names []string
	for _, f := range faults.All() {
		names = append(names, f.Name())
	}
	return strings.Join(names, ", ")
}

// Name returns the scenario's name; "" for the zero Scenario.
func (s Scenario) Name() string {
	if s.fault == nil {
		return ""
	}
	return s.fault.Name()
}

// String returns the name and, as NAME=VALUE, the parameters that are not at their default; "" for the
// zero Scenario.
func (s Scenario) String() string { return s.text }

// Params returns the parameters in effect, defaults included, by snake_case key, fit for JSON; a
// duration is a float64 of milliseconds under a key that ends in _ms. The map is the caller's; nil for
// the zero Scenario.
func (s Scenario) Params() map[string]any { return maps.Clone(s.params) }
