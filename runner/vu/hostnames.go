package vu

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Hostnames holds values for host names, with or without a port, and for
// patterns of them: `*` at the start stands for any text, none included. Case
// does not matter. The zero value is empty.
type Hostnames[V any] struct {
	exact    map[string]V
	suffixes []suffix[V] // the longest first
}

type suffix[V any] struct {
	text  string
	value V
}

// NewHostnames makes Hostnames of names and patterns. Its error names the
// first that is none.
func NewHostnames[V any](of map[string]V) (Hostnames[V], error) {
	valid := regexp.MustCompile(`^(\*\.?)?([a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*)?(:[0-9]{1,5})?$`)
	h := Hostnames[V]{exact: make(map[string]V, len(of))}
	for _, key := range slices.Sorted(maps.Keys(of)) {
		name := strings.ToLower(key)
		if name == "" || !valid.MatchString(name) {
			return h, fmt.Errorf("%q is no host name: want one like \"example.com\", \"*.example.com\" or \"example.com:443\"", key)
		}
		if rest, ok := strings.CutPrefix(name, "*"); ok {
			h.suffixes = append(h.suffixes, suffix[V]{text: rest, value: of[key]})
		} else {
			h.exact[name] = of[key]
		}
	}
	slices.SortStableFunc(h.suffixes, func(a, b suffix[V]) int { return cmp.Compare(len(b.text), len(a.text)) })
	return h, nil
}

// Find is the value for a name: its own, else that of the longest pattern.
func (h Hostnames[V]) Find(name string) (V, bool) {
	if len(h.exact) > 0 || len(h.suffixes) > 0 {
		name = strings.ToLower(name)
		if v, ok := h.exact[name]; ok {
			return v, true
		}
		for _, s := range h.suffixes {
			if strings.HasSuffix(name, s.text) {
				return s.value, true
			}
		}
	}
	var none V
	return none, false
}
