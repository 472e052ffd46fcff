// Package catalog reads policies: the named ones that are built in, and files
// or objects in the same format.
package catalog

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/retrylab/retrylab/resilience"
	"github.com/retrylab/retrylab/resilience/budget"
	"go.yaml.in/yaml/v3"
)

//go:embed policies.yaml
var builtinYAML []byte

// Catalog is an ordered list of policies with distinct names. It is not
// changed once made.
type Catalog struct {
	entries []Entry
	budgets budget.Registry // only to compare the settings of a name
}

// Entry is one policy of a catalog.
type Entry struct {
	Config resilience.Config
	Source string // its YAML, as it was written
}

var builtin = sync.OnceValues(func() (*Catalog, error) { return Parse("built-in policies", builtinYAML) })

// Builtin returns the named policies that come with the program.
func Builtin() *Catalog {
	c, err := builtin()
	if err != nil {
		panic(err) // the embedded file is tested
	}
	return c
}

// Parse reads a policy file: YAML or JSON, a list of policies. Source names
// the file in errors. It fails with an [*InvalidError] that lists every fault.
func Parse(source string, data []byte) (*Catalog, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return nil, &InvalidError{Source: source, Faults: []string{strings.TrimPrefix(err.Error(), "yaml: ")}}
	}
	d := new(decoder)
	c := new(Catalog)
	if root.Kind == 0 {
		d.fault("", "holds no policy")
	} else if list := root.Content[0]; list.Kind != yaml.SequenceNode {
		d.fault("", "is not a list of policies")
	} else {
		for i, node := range list.Content {
			c.add(d, fmt.Sprintf("[%d]", i), node)
		}
	}
	if err := d.err(source); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Catalog) add(d *decoder, path string, node *yaml.Node) {
	var tree any
	if err := node.Decode(&tree); err != nil {
		d.fault(path, "%s", strings.TrimPrefix(err.Error(), "yaml: "))
		return
	}
	config := d.policy(path, tree)
	for _, e := range c.entries {
		if e.Config.Name == config.Name && config.Name != "" {
			d.fault(path+".name", "%q stands here twice", config.Name)
		}
	}
	c.checkBudgets(d, path, config)
	source, err := yaml.Marshal(node)
	if err != nil {
		d.fault(path, "%v", err)
	}
	c.entries = append(c.entries, Entry{Config: config, Source: string(source)})
}

// checkBudgets faults a budget whose name stands for other settings in a policy
// before.
func (c *Catalog) checkBudgets(d *decoder, path string, config resilience.Config) {
	for i, g := range config.Guards {
		b := budgetOf(g)
		if b == nil || b.Validate() != nil {
			continue
		}
		if _, err := c.budgets.Get(*b); err != nil {
			d.fault(fmt.Sprintf("%s.guards[%d].%s.budget", path, i, g.Kind()), "%v", err)
		}
	}
}

// budgetOf is the budget of a guard; nil where it has none.
func budgetOf(g resilience.Guard) *budget.Config {
	switch g := g.(type) {
	case resilience.RetryGuard:
		return g.Budget
	case resilience.HedgeGuard:
		return g.Budget
	}
	return nil
}

// Decode reads one policy from a tree of maps, lists and scalars, as a JSON
// or JavaScript object gives it. It fails with an [*InvalidError] that lists
// every fault.
func Decode(tree any) (resilience.Config, error) {
	d := new(decoder)
	config := d.policy("", tree)
	if err := d.err("policy"); err != nil {
		return resilience.Config{}, err
	}
	return config, nil
}

// With returns a catalog of c's policies and others'. A name that both have
// means the one of others.
func (c *Catalog) With(others *Catalog) *Catalog {
	merged := new(Catalog)
	for _, e := range c.entries {
		if _, err := others.Lookup(e.Config.Name); err != nil {
			merged.entries = append(merged.entries, e)
		}
	}
	merged.entries = append(merged.entries, others.entries...)
	return merged
}

// Entries lists the policies in their order. The slice must not be changed.
func (c *Catalog) Entries() []Entry { return c.entries }

// Names lists the policies' names in their order.
func (c *Catalog) Names() []string {
	names := make([]string, len(c.entries))
	for i, e := range c.entries {
		names[i] = e.Config.Name
	}
	return names
}

// Lookup finds a policy by its name. The error names the known ones.
func (c *Catalog) Lookup(name string) (Entry, error) {
	for _, e := range c.entries {
		if e.Config.Name == name {
			return e, nil
		}
	}
	return Entry{}, fmt.Errorf("unknown policy %q, known are: %s", name, strings.Join(c.Names(), ", "))
}

// InvalidError lists everything that is wrong with a policy or a file.
type InvalidError struct {
	Source string
	Faults []string // "path: what is wrong"
}

// Error is one line for one fault, and a line each for more.
func (e *InvalidError) Error() string {
	if len(e.Faults) == 1 {
		return e.Source + ": " + e.Faults[0]
	}
	return fmt.Sprintf("%s: %d faults\n  %s", e.Source, len(e.Faults), strings.Join(e.Faults, "\n  "))
}

// Description is a policy in the few figures that a report needs.
type Description struct {
	Name           string
	MaxAttempts    int           // of its retries, multiplied where they are nested; 1 without one
	AttemptTimeout time.Duration // the shortest timeout around an attempt; 0: none
	Guards         []string      // kinds, outermost first
	Budget         string        // kind of the first budget among its retries and hedges; "": none
}

// Describe sums a policy up.
func Describe(c resilience.Config) Description {
	d := Description{Name: c.Name, MaxAttempts: 1, Guards: []string{}}
	for _, g := range c.Guards {
		d.Guards = append(d.Guards, g.Kind())
		switch g := g.(type) {
		case resilience.RetryGuard:
			d.MaxAttempts *= g.MaxAttempts
			d.spends(g.Budget)
			d.AttemptTimeout = 0 // what is outside of a retry bounds the request
		case resilience.TimeoutGuard:
			if d.AttemptTimeout == 0 || g.Limit < d.AttemptTimeout {
				d.AttemptTimeout = g.Limit
			}
		case resilience.HedgeGuard:
			d.spends(g.Budget)
		}
	}
	return d
}

func (d *Description) spends(c *budget.Config) {
	if c != nil && d.Budget == "" {
		d.Budget = string(c.Kind)
	}
}

// faultsOf splits a validation error into its lines.
func faultsOf(err error) []string {
	var faults []string
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		for _, e := range joined.Unwrap() {
			faults = append(faults, e.Error())
		}
		return faults
	}
	return []string{err.Error()}
}
