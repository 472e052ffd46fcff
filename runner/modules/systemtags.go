package modules

import (
	"errors"
	"fmt"

	"github.com/retrylab/retrylab/runner/metrics"
)

// SystemTags are the names of the tags that the runner gives samples by
// itself. Nil means those that k6 gives unless told otherwise; a set that is
// empty and not nil means none.
type SystemTags map[string]bool

// NewSystemTags is the set of these names. Its error names every unknown one.
func NewSystemTags(names []string) (SystemTags, error) {
	set := make(SystemTags, len(names))
	var faults []error
	for _, name := range names {
		switch name {
		case "proto", "subproto", "status", "method", "url", "name", "group", "check", "error", "error_code",
			"tls_version", "scenario", "service", "expected_response", "iter", "vu", "ip":
			set[name] = true
		case "ocsp_status":
			faults = append(faults, fmt.Errorf("%q is not in the built-in runner; use a k6 build (see README)", name))
		default:
			faults = append(faults, fmt.Errorf("%q is no system tag: want some of proto, subproto, status, method, url, name, "+
				"group, check, error, error_code, tls_version, scenario, service, expected_response, iter, vu, ip", name))
		}
	}
	return set, errors.Join(faults...)
}

// Has says whether samples get the tag.
func (s SystemTags) Has(name string) bool {
	if s == nil {
		return name != "iter" && name != "vu" && name != "ip"
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
