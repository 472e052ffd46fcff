package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/retrylab/retrylab/resilience/catalog"
)

type policyCmd struct {
	List policyListCmd `cmd:"" default:"1" help:"List the named policies."`
	Show policyShowCmd `cmd:"" help:"Show a policy's guards, in the form that a policy file has."`
}

type policyListCmd struct{}

func (policyListCmd) Run(s *session) error {
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "POLICY\tATTEMPTS\tATTEMPT TIMEOUT\tGUARDS, OUTERMOST FIRST")
	for _, e := range catalog.Builtin().Entries() {
		d := catalog.Describe(e.Config)
		fmt.Fprintf(w, "%s\t%d\t%v\t%s\n", d.Name, d.MaxAttempts, d.AttemptTimeout, strings.Join(d.Guards, " > "))
	}
	return w.Flush()
}

type policyShowCmd struct {
	Name string `arg:"" help:"The policy's name."`
}

func (c policyShowCmd) Run(s *session) error {
	e, err := catalog.Builtin().Lookup(c.Name)
	if err != nil {
		return invalid(err)
	}
	_, err = fmt.Fprint(s.Out, e.Source)
	return err
}
