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
	"text/tabwriter"
	"time"

	"github.com/retrylab/retrylab/downstream"
	"github.com/retrylab/retrylab/resilience/catalog"
	"github.com/retrylab/retrylab/service"
)

type downstreamCmd struct {
	Scenario     string            `arg:"" optional:"" help:"Failure mode. Default: fixed-delay. --list shows all with their parameters."`
	Param        map[string]string `short:"p" placeholder:"NAME=VALUE" help:"A parameter of the scenario, such as -p failureRate=0.2."`
	At           []string          `placeholder:"PHASE" sep:"none" help:"Another scenario for a while, such as --at '10s outage mode=hang for 5s'. May be repeated."`
	Tier         []string          `placeholder:"POLICY" sep:"none" help:"A service in front of the server that calls it through this policy, such as --tier immediate-retry; --tier POLICY,pass-deadline ends its work at its caller's deadline. May be repeated, outermost first."`
	Policies     string            `placeholder:"FILE" help:"Policies of your own for the tiers, beside the built-in ones."`
	Config       string            `placeholder:"FILE" help:"JSON file with scenario, params, timeline, tiers, seed, cancellation, token; where a flag says otherwise, the flag holds."`
	Addr         string            `default:"127.0.0.1:0" help:"Where to listen, with the first tier if there are any; port 0 is a free one."`
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
  retrylab downstream random-failures --tier immediate-retry --tier retry-budget,pass-deadline

A timeline puts other scenarios in its place for a while:
  --at '10s outage for 5s' --at '30s brownout factor=0.2 for 10s'

Routes: /call (any method), /stats, /reset (POST), /scenario (GET, PUT), /healthz, /metrics. The first of
several tiers has them all, and /tiers (GET): the account of each tier.
On SIGINT it ends the calls in progress and prints its account as JSON on stdout.`
}

func (c downstreamCmd) Run(s *session) error {
	if c.List {
		return c.list(s)
	}
	config, tiers, err := c.config()
	if err != nil {
		return invalid(err)
	}
	config.Logger = s.log
	if len(tiers) > 0 {
		return c.serveChain(s, config, tiers)
	}
	l, err := downstream.Listen(c.Addr, config)
	if err != nil {
		return invalid(err)
	}
	c.announce(s, config, "", l.URL())
	<-s.ctx.Done()
	ctx, cancel := context.WithTimeout(s.hard, drainTime)
	defer cancel()
	closed := l.Close(ctx)
	return errors.Join(printAccount(s, l.Server().Stats()), closed)
}

// drainTime is how long calls in progress may go on after an interrupt.
const drainTime = 30 * time.Second

// serveChain serves the downstream behind tiers.
func (c downstreamCmd) serveChain(s *session, config downstream.Config, tiers []service.Tier) error {
	config.Public = false // it is the first tier that --addr is about
	l, err := downstream.Listen("", config)
	if err != nil {
		return invalid(err)
	}
	chain, err := service.StartChain(service.ChainConfig{
		Tiers: tiers, Next: l.URL(), Addr: c.Addr, Public: c.Public, Logger: s.log,
	})
	if err != nil {
		return errors.Join(invalid(err), l.Close(s.ctx))
	}
	behind := fmt.Sprintf(" behind %d tiers", len(tiers))
	if len(tiers) == 1 {
		behind = " behind 1 tier"
	}
	c.announce(s, config, behind, chain.URL())
	for i, t := range tiers {
		deadline := ""
		if t.PassDeadline {
			deadline = ", passes the deadline on"
		}
		fmt.Fprintf(s.Err, "  tier %d: %s%s\n", i+1, t.Policy.Name, deadline)
	}
	fmt.Fprintf(s.Err, "  the server itself: %s\n", l.URL())
	<-s.ctx.Done()
	ctx, cancel := context.WithTimeout(s.hard, drainTime)
	defer cancel()
	closed := errors.Join(chain.Close(ctx), l.Close(ctx)) // callers first, so that none loses the one it calls
	account := service.Account{Snapshot: l.Server().Stats(), ChainStats: chain.Stats()}
	return errors.Join(printAccount(s, account), printTiers(s, account.ChainStats), closed)
}

// announce says what is served, and where. Behind says what stands before it.
func (downstreamCmd) announce(s *session, config downstream.Config, behind, url string) {
	fmt.Fprintf(s.Err, "%s with seed %d, cancellation %s%s: calls at %s/call, its account at %s/stats\n",
		config.Scenario, config.Seed, config.Cancellation, behind, url, url)
	for _, phase := range config.Timeline {
		fmt.Fprintf(s.Err, "  at %s\n", phase)
	}
}

// printAccount writes an account as JSON.
func printAccount(s *session, account any) error {
	e := json.NewEncoder(s.Out)
	e.SetIndent("", "  ")
	return e.Encode(account)
}

// printTiers writes the account of the tiers as a table for people.
func printTiers(s *session, stats service.ChainStats) error {
	w := tabwriter.NewWriter(s.Err, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TIER\tPOLICY\tREQUESTS\tSUCCEEDED\tCALLS\tCALLS/REQUEST")
	row := func(tier, policy string, t service.TierStats, amplification float64) {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%.3f\n", tier, policy, t.Received, t.Succeeded, t.Calls, amplification)
	}
	for i, t := range stats.Tiers {
		row(fmt.Sprint(i+1), t.Policy, t, t.Amplification)
	}
	total := stats.Tiers[0]
	total.Calls = stats.Tiers[len(stats.Tiers)-1].Calls
	row("total", "", total, stats.Amplification)
	return w.Flush()
}

// config is what the file says, where there is one, and then what the flags say. The error joins every
// fault found.
func (c downstreamCmd) config() (config downstream.Config, tiers []service.Tier, _ error) {
	config = downstream.Config{Seed: rand.Uint64N(1 << 53)} // a number that JSON keeps whole
	var errs []error
	known, err := policies(c.Policies)
	if err != nil {
		errs = append(errs, err)
		known = catalog.Builtin()
	}
	if c.Config != "" {
		data, err := os.ReadFile(c.Config)
		if err == nil {
			config, tiers, err = parseConfig(data, config, known)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.Config, err))
		}
	}
	if len(c.Tier) > 0 {
		if tiers, err = parseTiers(c.Tier, known); err != nil {
			errs = append(errs, err)
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
	return config, tiers, errors.Join(errs...)
}

// parseConfig reads a file: a downstream's configuration, and the tiers in front of it.
func parseConfig(data []byte, base downstream.Config, known *catalog.Catalog) (downstream.Config, []service.Tier, error) {
	config, err := downstream.ParseConfig(data, base, "tiers")
	var given struct {
		Tiers any `json:"tiers"`
	}
	if json.Unmarshal(data, &given) != nil {
		return config, nil, err // which says what is wrong with the JSON
	}
	tiers, wrong := service.ParseTiers(given.Tiers, known)
	return config, tiers, errors.Join(err, wrong)
}

// parseTiers reads the flags --tier.
func parseTiers(texts []string, known *catalog.Catalog) (tiers []service.Tier, err error) {
	var errs []error
	if len(texts) > service.MaxTiers {
		errs = append(errs, fmt.Errorf("--tier: %d of them are more than %d", len(texts), service.MaxTiers))
	}
	for _, text := range texts {
		name, option, more := strings.Cut(text, ",")
		if more && option != "pass-deadline" {
			errs = append(errs, fmt.Errorf("--tier %q: %q is not pass-deadline", text, option))
		}
		entry, err := known.Lookup(name)
		if err != nil {
			errs = append(errs, fmt.Errorf("--tier %q: %w", text, err))
		}
		tiers = append(tiers, service.Tier{Policy: entry.Config, PassDeadline: more})
	}
	return tiers, errors.Join(errs...)
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
