package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/retrylab/retrylab/downstream"
)

type downstreamCmd struct {
	Scenario     string            `arg:"" optional:"" help:"Failure mode. Default: fixed-delay. --list shows all with their parameters."`
	Param        map[string]string `short:"p" placeholder:"NAME=VALUE" help:"A parameter of the scenario, such as -p failureRate=0.2."`
	At           []string          `placeholder:"PHASE" sep:"none" help:"Another scenario for a while, such as --at '10s outage mode=hang for 5s'. May be repeated."`
	Config       string            `placeholder:"FILE" help:"JSON file with scenario, params, timeline, seed, cancellation, token; where a flag says otherwise, the flag holds."`
	Addr         string            `default:"127.0.0.1:0" help:"Where to listen; port 0 is a free one."`
	Public       bool              `help:"Allow an address beyond loopback."`
	Token        string            `env:"RETRYLAB_TOKEN" help:"What POST /reset and PUT /scenario must carry as Authorization: Bearer TOKEN. Default: nothing."`
	Seed         *uint64           `help:"Of the calls' fates. Default: a random one, which is printed."`
	Cancellation string            `default:"" enum:",ignore,at-dequeue,mid-work" help:"What a call does when its caller is gone: ignore (default), at-dequeue, mid-work."`
	List         bool              `help:"List the scenarios and their parameters, and end."`
}

// Help is the long help.
func (downstreamCmd) Help() string {
	return `Examples:
  retrylab downstream random-failures -p failureRate=0.2 --seed 7
  retrylab downstream latency-tail-spike --addr 127.0.0.1:9000
  retrylab downstream overload -p servers=4 -p discipline=codel --cancellation at-dequeue
  retrylab downstream --config sick.json

A timeline puts other scenarios in its place for a while:
  --at '10s outage for 5s' --at '30s brownout factor=0.2 for 10s'

Routes: /call (any method), /stats, /reset (POST), /scenario (GET, PUT), /healthz, /metrics.
On SIGINT it ends the calls in progress and prints its account as JSON on stdout.`
}

func (c downstreamCmd) Run(s *session) error {
	if c.List {
		return c.list(s)
	}
	config, err := c.config()
	if err != nil {
		return invalid(err)
	}
	config.Logger = s.log
	l, err := downstream.Listen(c.Addr, config)
	if err != nil {
		return invalid(err)
	}
	fmt.Fprintf(s.Err, "%s with seed %d, cancellation %s: calls at %s/call, its account at %s/stats\n",
		config.Scenario, config.Seed, config.Cancellation, l.URL(), l.URL())
	for _, phase := range config.Timeline {
		fmt.Fprintf(s.Err, "  at %s\n", phase)
	}
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

// config is what the file says, where there is one, and then what the flags say. The error joins every
// fault found.
func (c downstreamCmd) config() (downstream.Config, error) {
	config := downstream.Config{Seed: rand.Uint64N(1 << 53)} // a number that JSON keeps whole
	var errs []error
	if c.Config != "" {
		data, err := os.ReadFile(c.Config)
		if err == nil {
			config, err = downstream.ParseConfig(data, config)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.Config, err))
		}
	}
	params := make(map[string]any, len(c.Param))
	for name, value := range c.Param {
		params[name] = value
	}
	name := c.Scenario
	if name == "" && (config.Scenario.Name() == "" || len(params) > 0) {
		name = config.Scenario.Name()
		if name == "" {
			name = "fixed-delay"
		}
	}
	var err error
	if name != "" {
		if name == config.Scenario.Name() { // the file's parameters stay where no flag says otherwise
			config.Scenario, err = config.Scenario.With(params)
		} else {
			config.Scenario, err = downstream.ParseScenario(name, params)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	if len(c.At) > 0 {
		config.Timeline = nil
	}
	for _, text := range c.At {
		phase, err := downstream.ParsePhase(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--at %q: %w", text, err))
		}
		config.Timeline = append(config.Timeline, phase)
	}
	if c.Cancellation != "" {
		if config.Cancellation, err = downstream.ParseCancellation(c.Cancellation); err != nil {
			errs = append(errs, err)
		}
	}
	if c.Seed != nil {
		config.Seed = *c.Seed
	}
	if c.Token != "" {
		config.Token = c.Token
	}
	config.Public = c.Public
	return config, errors.Join(errs...)
}

func (downstreamCmd) list(s *session) error {
	var text strings.Builder
	for _, info := range downstream.Scenarios() {
		fmt.Fprintf(&text, "%s\n  %s\n", info.Name, info.Doc)
		for _, p := range info.Params {
			fmt.Fprintf(&text, "    -p %s=%v  %s (%s, %s)\n", p.Name, p.Default, p.Doc, p.Type, p.Range)
		}
	}
	_, err := io.WriteString(s.Out, text.String())
	return err
}
