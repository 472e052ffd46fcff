package modules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/retrylab/retrylab/runner/metrics"
)

// SystemTags are the names of the tags that the runner gives samples by
// itself. Nil means those that k6 gives unless told otherwise; a set that is
// empty and not nil means none.
type SystemTags map[string]bool

// NewSystemTags is the set of these names. Its error names every unknown one.
func NewSystemTags(names []string) (SystemTags, error) {
	known := append(metrics.DefaultSystemTags(), "iter", "vu", "ip")
	set := make(SystemTags, len(names))
	var faults []error
	for _, name := range names {
		switch {
		case slices.Contains(known, name):
			set[name] = true
		case name == "ocsp_status":
			faults = append(faults, fmt.Errorf("%q is not in the built-in runner; use a k6 build (see README)", name))
		default:
			faults = append(faults, fmt.Errorf("%q is no system tag: want some of %s", name, strings.Join(known, ", ")))
		}
	}
	return set, errors.Join(faults...)
}

// Has says whether samples get the tag.
func (s SystemTags) Has(name string) bool {
	if s == nil {
		return name != "ip" && !metrics.IsSystemMetadata(name)
	}
	return s[name]
}

// Add is tags with a system tag added or replaced, if samples get it.
func (s SystemTags) Add(tags *metrics.TagSet, name, value string) *metrics.TagSet {
	if !s.Has(name) {
		return tags
	}
	return tags.With(name, value)
}
