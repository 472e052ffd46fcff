package compare

import (
	"cmp"
	"crypto/md5" // k6's identifiers, not a secret
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// readChecks reads the checks of a root_group, whose groups and checks are lists
// (handleSummary) or objects by name (--summary-export); nil if there is none.
func readChecks(data json.RawMessage) (map[checkID]*verdicts, error) {
	if data == nil {
		return nil, nil
	}
	out := map[checkID]*verdicts{}
	if err := readGroup(data, "", out, 0); err != nil {
		return nil, fmt.Errorf("root_group: %w", err)
	}
	return out, nil
}

// maxDepth bounds the groups within groups.
const maxDepth = 100

func readGroup(data json.RawMessage, path string, out map[checkID]*verdicts, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("more than %d groups within each other", maxDepth)
	}
	var g struct{ Groups, Checks json.RawMessage }
	if err := json.Unmarshal(data, &g); err != nil {
		return err
	}
	checks, err := elements(g.Checks)
	if err != nil {
		return fmt.Errorf("checks: %w", err)
	}
	for _, raw := range checks {
		var c struct {
			Name          string
			Passes, Fails uint64
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			return fmt.Errorf("checks: %w", err)
		}
		id := checkID{path, c.Name}
		if out[id] == nil {
			out[id] = &verdicts{}
		}
		out[id].add(c.Passes, c.Fails)
	}
	groups, err := elements(g.Groups)
	if err != nil {
		return fmt.Errorf("groups: %w", err)
	}
	for _, raw := range groups {
		var inner struct{ Name string }
		if err := json.Unmarshal(raw, &inner); err != nil {
			return fmt.Errorf("groups: %w", err)
		}
		if err := readGroup(raw, path+"::"+inner.Name, out, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// elements are the values of a list or of an object.
func elements(data json.RawMessage) ([]json.RawMessage, error) {
	if len(data) == 0 || data[0] != '{' {
		var list []json.RawMessage
		if len(data) == 0 {
			return nil, nil
		}
		err := json.Unmarshal(data, &list)
		return list, err
	}
	var o object
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, err
	}
	var list []json.RawMessage
	for _, m := range o {
		list = append(list, m.value)
	}
	return list, nil
}

// group is a group as handleSummary gets it.
type group struct {
	Name   string   `json:"name"`
	Path   string   `json:"path"`
	ID     string   `json:"id"`
	Groups []*group `json:"groups"`
	Checks []check  `json:"checks"`
}

type check struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	ID     string `json:"id"`
	Passes uint64 `json:"passes"`
	Fails  uint64 `json:"fails"`
}

// rootGroup is the tree of the groups that have checks, by name.
func rootGroup(checks map[checkID]*verdicts) *group {
	root := newGroup("", "")
	byName := func(a, b checkID) int {
		return cmp.Or(strings.Compare(a.group, b.group), strings.Compare(a.name, b.name))
	}
	for _, id := range slices.SortedFunc(maps.Keys(checks), byName) {
		g := root
		for _, name := range strings.Split(id.group, "::") {
			if name != "" {
				g = g.child(name)
			}
		}
		path, v := g.Path+"::"+id.name, checks[id]
		g.Checks = append(g.Checks, check{Name: id.name, Path: path, ID: identifier(path), Passes: v.passes, Fails: v.fails})
	}
	return root
}

func newGroup(name, path string) *group {
	return &group{Name: name, Path: path, ID: identifier(path), Groups: []*group{}, Checks: []check{}}
}

func (g *group) child(name string) *group {
	for _, c := range g.Groups {
		if c.Name == name {
			return c
		}
	}
	c := newGroup(name, g.Path+"::"+name)
	g.Groups = append(g.Groups, c)
	return c
}

func identifier(path string) string {
	sum := md5.Sum([]byte(path)) // k6's identifiers, not a secret
	return hex.EncodeToString(sum[:])
}
