package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/retrylab/retrylab/downstream"
)

type downstreamCmd struct {
	Scenario     string            `arg:"" optional:"" default:"fixed-delay" help:"Failure mode. Default: ${default}. --list shows all with their parameters."`
	Param        map[string]string `short:"p" placeholder:"NAME=VALUE" help:"A parameter of the scenario, such as -p failureRate=0.2."`
	Addr         string            `default:"127.0.0.1:0" help:"Where to listen; port 0 is a free one."`
	Public       bool              `help:"Allow an address beyond loopback."`
	Seed         *uint64           `help:"Of the calls' fates. Default: a random one, which is printed."`
	Cancellation string            `default:"ignore" enum:"ignore,at-dequeue,mid-work" help:"What a call does when its caller is gone: ${enum}."`
	List         bool              `help:"List the scenarios and their parameters, and end."`
}

// Help is the long help.
func (downstreamCmd) Help() string {
	return `Examples:
  retrylab downstream random-failures -p failureRate=0.2 --seed 7
  retrylab downstream latency-tail-spike --addr 127.0.0.1:9000

Routes: /call (any method), /stats, /reset (POST), /scenario, /healthz.
On SIGINT it ends the calls in progress and prints its account as JSON on stdout.`
}

func (c downstreamCmd) Run(s *session) error {
	if c.List {
		return c.list(s)
	}
	params := make(map[string]any, len(c.Param))
	for name, value := range c.Param {
		params[name] = value
	}
	scenario, err := downstream.ParseScenario(c.Scenario, params)
	if err != nil {
		return invalid(err)
	}
	config := downstream.Config{Scenario: scenario, Seed: rand.Uint64N(1 << 53), Logger: s.log, Public: c.Public} // a number that JSON keeps whole
	if c.Seed != nil {
		config.Seed = *c.Seed
	}
	if config.Cancellation, err = downstream.ParseCancellation(c.Cancellation); err != nil {
		return invalid(err)
	}
	l, err := downstream.Listen(c.Addr, config)
	if err != nil {
		return invalid(err)
	}
	fmt.Fprintf(s.Err, "%s with seed %d, cancellation %s: calls at %s/call, its account at %s/stats\n",
		scenario.Name(), config.Seed, config.Cancellation, l.URL(), l.URL())
	<-s.ctx.Done()
	const drain = 30 * time.Second
	ctx, cancel := context.WithTimeout(s.hard, drain)
	defer cancel()
	closed := l.Close(ctx)
	account := json.NewEncoder(s.Out)
	account.SetIndent("", "  ")
	if err := account.Encode(l.Server().Stats()); err != nil {
		return err
	}
	return closed
}

func (downstreamCmd) list(s *session) error {
	var text strings.Builder
	for _, info := range downstream.Scenarios() {
		fmt.Fprintf(&text, "%s\n  %s\n", info.Name, info.Doc)
		for _, p := range info.Params {
			fmt.Fprintf(&text, "    -p %s=%v  %s (%s)\n", p.Name, p.Default, p.Doc, p.Type)
		}
	}
	_, err := io.WriteString(s.Out, text.String())
	return err
}
