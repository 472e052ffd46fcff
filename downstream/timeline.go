package downstream

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/retrylab/retrylab/downstream/faults"
)

// Phase puts a scenario in the place of the base scenario for a while.
type Phase struct {
	// At is when the phase begins, from the start of the server, the last reset or the last change of
	// the scenario; at most [faults.MaxDelay]. The age of the phase's scenario begins there.
	At time.Duration
	// For is how long it lasts, at most [faults.MaxDelay]; 0: until the next phase begins or for ever.
	For time.Duration
	// Scenario is in effect meanwhile; required.
	Scenario Scenario
}

// ParsePhase reads a phase as users write it: when, the scenario, its parameters, how long, as in
// "10s outage mode=hang for 5s". The parameters and the last two words may be absent. The error joins one
// line for every fault found.
func ParsePhase(text string) (Phase, error) {
	const form = "want WHEN SCENARIO [NAME=VALUE]... [for HOW-LONG], as in 10s outage mode=hang for 5s"
	words := strings.Fields(text)
	if len(words) < 2 {
		return Phase{}, fmt.Errorf("%q is no phase: %s", text, form)
	}
	given := map[string]any{"at": words[0], "scenario": words[1]}
	words = words[2:]
	if i := slices.Index(words, "for"); i >= 0 {
		if i != len(words)-2 {
			return Phase{}, fmt.Errorf("%q is no phase: one duration and no more follows for: %s", text, form)
		}
		given["for"] = words[i+1]
		words = words[:i]
	}
	params := make(map[string]any)
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			return Phase{}, fmt.Errorf("%q is no phase: %q is not NAME=VALUE: %s", text, word, form)
		}
		params[name] = value
	}
	given["params"] = params
	return phaseOf(given)
}

// phaseOf reads a phase from the members of a JSON object.
func phaseOf(given map[string]any) (Phase, error) {
	var p Phase
	var errs []error
	for name, dst := range map[string]*time.Duration{"at": &p.At, "for": &p.For} {
		var d faults.Params
		d.Duration(dst, name, 0, 0, faults.MaxDelay, "")
		if err := d.Set("phase", map[string]any{name: given[name]}); err != nil {
			errs = append(errs, err)
		}
	}
	if given["at"] == nil {
		errs = append(errs, errors.New("phase.at: none given"))
	}
	name, isText := given["scenario"].(string)
	params, isObject := given["params"].(map[string]any)
	switch {
	case !isText:
		errs = append(errs, fmt.Errorf("phase.scenario: none given as text; known are %s", scenarioNames()))
	case !isObject && given["params"] != nil:
		errs = append(errs, errors.New("phase.params: must be an object"))
	default:
		var err error
		if p.Scenario, err = ParseScenario(name, params); err != nil {
			errs = append(errs, err)
		}
	}
	for name := range given {
		if !slices.Contains([]string{"at", "for", "scenario", "params"}, name) {
			errs = append(errs, fmt.Errorf("phase: unknown key %q; known are at, for, scenario, params", name))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	if errs != nil {
		return Phase{}, errors.Join(errs...)
	}
	return p, nil
}

// String returns the text that [ParsePhase] reads, with the parameters that are not at their default.
func (p Phase) String() string {
	text := faults.DurationText(p.At) + " " + p.Scenario.String()
	if p.For > 0 {
		text += " for " + faults.DurationText(p.For)
	}
	return text
}

// MarshalText implements [encoding.TextMarshaler] as [Phase.String].
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// sorted returns the phases in order of time.
func sorted(phases []Phase) []Phase {
	s := slices.Clone(phases)
	slices.SortStableFunc(s, func(a, b Phase) int { return cmp.Compare(a.At, b.At) })
	return s
}

func checkTimeline(phases []Phase) []error {
	var errs []error
	for i, p := range phases {
		fail := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("timeline[%d]: "+format, append([]any{i}, args...)...))
		}
		if p.Scenario.fault == nil {
			fail("no scenario given; known are %s", scenarioNames())
		}
		if p.At < 0 || p.At > faults.MaxDelay {
			fail("at %q is outside 0s..1h", p.At)
		}
		if p.For < 0 || p.For > faults.MaxDelay {
			fail("for %q is outside 0s..1h", p.For)
		}
	}
	if errs != nil {
		return errs
	}
	s := sorted(phases)
	for i := 1; i < len(s); i++ {
		if before, p := s[i-1], s[i]; p.At == before.At || before.For > 0 && p.At < before.At+before.For {
			errs = append(errs, fmt.Errorf("timeline: %q begins before %q is over", p, before))
		}
	}
	return errs
}
