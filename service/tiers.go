package service

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/retrylab/retrylab/resilience/catalog"
)

// ParseTiers reads the tiers of a chain from a tree as JSON, YAML or JavaScript
// give it: a list of objects {policy, passDeadline}, as a request meets them.
// The policy is the name of a known one or an object {name, guards};
// passDeadline is false where absent. A nil tree is no tiers. The error joins
// one line for every fault, each with its path.
func ParseTiers(tree any, known *catalog.Catalog) ([]Tier, error) {
	if tree == nil {
		return nil, nil
	}
	list, ok := tree.([]any)
	if !ok {
		return nil, errors.New("tiers: must be a list such as [{policy: jitter, passDeadline: true}]")
	}
	errs := []error{checkCount(len(list))}
	var tiers []Tier
	for i, item := range list {
		t, faults := parseTier(fmt.Sprintf("tiers[%d]", i), item, known)
		tiers, errs = append(tiers, t), append(errs, faults...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return tiers, nil
}

func parseTier(path string, item any, known *catalog.Catalog) (t Tier, faults []error) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(path+format, args...)) }
	values, ok := item.(map[string]any)
	if !ok {
		fault(": must be an object {policy, passDeadline}")
		return t, faults
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if key != "policy" && key != "passDeadline" {
			fault(": unknown key %.60q; known are policy, passDeadline", key)
		}
	}
	var err error
	switch policy := values["policy"].(type) {
	case nil:
		fault(".policy: is missing")
	case string:
		var entry catalog.Entry
		entry, err = known.Lookup(policy)
		t.Policy = entry.Config
	case map[string]any:
		if t.Policy, err = catalog.Decode(policy); err == nil {
			err = t.Policy.Validate()
		}
	default:
		fault(".policy: must be a name or an object {name, guards}")
	}
	var invalid *catalog.InvalidError
	switch {
	case errors.As(err, &invalid):
		for _, f := range invalid.Faults {
			fault(".policy.%s", f)
		}
	case err != nil:
		fault(".policy: %w", err)
	}
	if given := values["passDeadline"]; given != nil {
		if t.PassDeadline, ok = given.(bool); !ok {
			fault(".passDeadline: %q is not true or false", fmt.Sprint(given))
		}
	}
	return t, faults
}
