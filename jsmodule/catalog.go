package jsmodule

import (
	"fmt"
	"strings"

	"github.com/grafana/sobek"
	"github.com/retrylab/retrylab/downstream"
	"github.com/retrylab/retrylab/resilience/catalog"
	"go.yaml.in/yaml/v3"
)

// listPolicies is the function policies: those that new Policy finds by name.
func (i *Instance) listPolicies(sobek.FunctionCall) sobek.Value {
	type policy struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Definition  any    `json:"definition"`
	}
	var list []policy
	for _, e := range i.module.catalog.Entries() {
		p := policy{Name: e.Config.Name, Description: sum(catalog.Describe(e.Config))}
		if err := yaml.Unmarshal([]byte(e.Source), &p.Definition); err != nil {
			panic(i.host.Runtime().NewGoError(err)) // it was read before
		}
		list = append(list, p)
	}
	return i.own(list)
}

// sum is a policy in a few words.
func sum(d catalog.Description) string {
	text := "no guards"
	if len(d.Guards) > 0 {
		text = strings.Join(d.Guards, " > ")
	}
	if d.MaxAttempts > 1 {
		text += fmt.Sprintf(", %d attempts", d.MaxAttempts)
	} else {
		text += ", 1 attempt"
	}
	if d.AttemptTimeout > 0 {
		text += fmt.Sprintf(" of at most %v", d.AttemptTimeout)
	}
	if d.Budget != "" {
		text += ", " + d.Budget + " budget"
	}
	return text
}

// listScenarios is the function scenarios: the failure modes of a Downstream.
func (i *Instance) listScenarios(sobek.FunctionCall) sobek.Value {
	type param struct {
		Name        string `json:"name"`
		Type        string `json:"type"`
		Default     any    `json:"default"`
		Range       string `json:"range"`
		Description string `json:"description"`
	}
	type scenario struct {
		Name        string  `json:"name"`
		Description string  `json:"description"`
		Params      []param `json:"params"`
	}
	var list []scenario
	for _, s := range downstream.Scenarios() {
		params := []param{}
		for _, p := range s.Params {
			params = append(params, param{p.Name, p.Type, p.Default, p.Range, p.Doc})
		}
		list = append(list, scenario{s.Name, s.Doc, params})
	}
	return i.own(list)
}
