package cli

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/retrylab/retrylab/resilience/catalog"
)

type policyCmd struct {
	List  policyListCmd  `cmd:"" default:"withargs" help:"List the named policies."`
	Show  policyShowCmd  `cmd:"" help:"Show a policy's guards, in the form that a policy file has."`
	Check policyCheckCmd `cmd:"" help:"Check a policy file, and name every fault in it."`
}

// Help is the long help.
func (policyCmd) Help() string {
	return `Examples:
  retrylab policy
  retrylab policy show circuit-breaker
  retrylab policy check my-policies.yaml
  retrylab policy list --policies my-policies.yaml`
}

// policies are the built-in policies, and those of a file ("" is none).
func policies(file string) (*catalog.Catalog, error) {
	if file == "" {
		return catalog.Builtin(), nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("policies: %w", err)
	}
	own, err := catalog.Parse(file, data)
	if err != nil {
		return nil, err
	}
	return catalog.Builtin().With(own), nil
}

type policyListCmd struct {
	Policies string `placeholder:"FILE" help:"Policies of your own, beside the built-in ones."`
}

func (c policyListCmd) Run(s *session) error {
	known, err := policies(c.Policies)
	if err != nil {
		return invalid(err)
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "POLICY\tATTEMPTS\tATTEMPT TIMEOUT\tGUARDS, OUTERMOST FIRST")
	for _, e := range known.Entries() {
		d := catalog.Describe(e.Config)
		fmt.Fprintf(w, "%s\t%d\t%v\t%s\n", d.Name, d.MaxAttempts, d.AttemptTimeout, strings.Join(d.Guards, " > "))
	}
	return w.Flush()
}

type policyShowCmd struct {
	Name     string `arg:"" help:"The policy's name."`
	Policies string `placeholder:"FILE" help:"Policies of your own, beside the built-in ones."`
}

func (c policyShowCmd) Run(s *session) error {
	known, err := policies(c.Policies)
	if err != nil {
		return invalid(err)
	}
	e, err := known.Lookup(c.Name)
	if err != nil {
		return invalid(err)
	}
	_, err = fmt.Fprint(s.Out, e.Source)
	return err
}

type policyCheckCmd struct {
	File string `arg:"" help:"The file: YAML or JSON, a list of policies."`
}

func (c policyCheckCmd) Run(s *session) error {
	data, err := os.ReadFile(c.File)
	if err != nil {
		return invalid(err)
	}
	own, err := catalog.Parse(c.File, data)
	if err != nil {
		return invalid(err)
	}
	_, err = fmt.Fprintf(s.Out, "%s: %d policies: %s\n", c.File, len(own.Names()), strings.Join(own.Names(), ", "))
	return err
}
