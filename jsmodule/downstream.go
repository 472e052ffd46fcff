package jsmodule

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/grafana/sobek"
	"github.com/retrylab/retrylab/downstream"
	"github.com/retrylab/retrylab/downstream/stats"
	"github.com/retrylab/retrylab/service"
)

// adminTimeout bounds a question to a server about itself.
const adminTimeout = 5 * time.Second

// newDownstream is the constructor Downstream: a server that fails in a
// controlled way, in this process or, with {url}, one that runs already.
func (i *Instance) newDownstream(call sobek.ConstructorCall) *sobek.Object {
	const wanted = "an object {scenario, params, timeline, tiers, seed, cancellation, name} or {url, token}"
	argument := i.constructor("Downstream", call, 1, wanted)
	options, ok := argument.Export().(map[string]any)
	if !ok {
		i.typeError("new Downstream takes %s; got %s", wanted, describe(argument))
	}
	d, err := i.parseDownstream(options)
	if err != nil {
		i.typeError("new Downstream: %v", err)
	}
	rt := i.host.Runtime()
	get := rt.ToValue(func(sobek.FunctionCall) sobek.Value {
		base, err := d.base()
		d.check("downstream.url", err)
		return rt.ToValue(base)
	})
	if err := call.This.DefineAccessorProperty("url", get, nil, sobek.FLAG_FALSE, sobek.FLAG_TRUE); err != nil {
		panic(err)
	}
	define(rt, call.This, "stats", func(sobek.FunctionCall) sobek.Value {
		d.calling("downstream.stats")
		tree, _, err := d.stats()
		d.check("downstream.stats", err)
		return tree
	})
	define(rt, call.This, "record", func(sobek.FunctionCall) sobek.Value {
		d.calling("downstream.record")
		tree, snapshot, err := d.stats()
		if err != nil {
			i.host.Logger().WithError(err).Warn("the server keeps no account that can be read: downstream_* metrics are missing")
			return sobek.Null()
		}
		d.record(snapshot)
		return tree
	})
	define(rt, call.This, "reset", func(sobek.FunctionCall) sobek.Value {
		d.calling("downstream.reset")
		_, err := d.ask(http.MethodPost, "/reset", nil)
		d.check("downstream.reset", err)
		return sobek.Undefined()
	})
	define(rt, call.This, "setScenario", d.setScenario)
	return nil
}

// setScenario is downstream.setScenario({scenario, params, timeline, seed,
// cancellation}): the server fails in another way from now on.
func (d *jsDownstream) setScenario(c sobek.FunctionCall) sobek.Value {
	const what = "downstream.setScenario"
	d.calling(what)
	options, ok := c.Argument(0).Export().(map[string]any)
	if !ok {
		d.instance.typeError("%s takes an object {scenario, params, timeline, seed, cancellation}; got %s", what, describe(c.Argument(0)))
	}
	body := make(map[string]any)
	for _, key := range []string{"scenario", "params", "timeline", "seed", "cancellation"} {
		if options[key] != nil {
			body[key] = options[key]
		}
		delete(options, key)
	}
	for key := range options {
		d.instance.typeError("%s: unknown key %q; known are: scenario, params, timeline, seed, cancellation", what, key)
	}
	if _, err := d.instance.parseDownstream(body); err != nil { // what it would refuse is refused here
		d.instance.typeError("%s: %v", what, err)
	}
	data, err := json.Marshal(body)
	d.check(what, err)
	_, err = d.ask(http.MethodPut, "/scenario", data)
	d.check(what, err)
	return sobek.Undefined()
}

// calling refuses calls where the host cannot make any.
func (d *jsDownstream) calling(what string) {
	if d.instance.host.InitContext() {
		d.instance.typeError("%s: no calls can be made in the init context", what)
	}
}

// check throws an error: a TypeError where the script asked for what cannot be,
// else a DownstreamError.
func (d *jsDownstream) check(what string, err error) {
	switch {
	case errors.Is(err, errInUse):
		d.instance.typeError("%s: %v", what, err)
	case err != nil:
		panic(d.instance.newError("DownstreamError", fmt.Sprintf("%s: %v", what, err)))
	}
}

// jsDownstream is a downstream as one VU uses it.
type jsDownstream struct {
	instance *Instance
	url      string // of a server that runs elsewhere; "": the one below
	token    string // of that server's admin routes; "": it has none
	name     string
	config   downstream.Config
	tiers    []service.Tier // in front of it; nil: none
}

func (i *Instance) parseDownstream(options map[string]any) (*jsDownstream, error) {
	d := &jsDownstream{instance: i}
	var scenario string
	var params map[string]any
	var faults []string
	text := func(key string, into *string) {
		value, ok := options[key].(string)
		if !ok {
			faults = append(faults, fmt.Sprintf("%s: must be a string; got %s", key, describe(options[key])))
		}
		*into = value
	}
	cancellation := ""
	for key, value := range options {
		if value == nil {
			continue // as an environment variable that is not set
		}
		switch key {
		case "url":
			text(key, &d.url)
		case "name":
			text(key, &d.name)
		case "token":
			text(key, &d.token)
		case "timeline":
			phases, err := timeline(value)
			if err != nil {
				faults = append(faults, err.Error())
			}
			d.config.Timeline = phases
		case "tiers":
			var err error
			if d.tiers, err = service.ParseTiers(value, i.module.catalog); err != nil {
				faults = append(faults, strings.Split(err.Error(), "\n")...)
			}
		case "scenario":
			text(key, &scenario)
		case "cancellation":
			text(key, &cancellation)
		case "params":
			var ok bool
			if params, ok = value.(map[string]any); !ok {
				faults = append(faults, "params: must be an object; got "+describe(value))
			}
		case "seed":
			seed, ok := value.(int64)
			if !ok || seed < 0 {
				faults = append(faults, fmt.Sprintf("seed: must be a whole number from 0; got %s", describe(value)))
			}
			d.config.Seed = uint64(seed)
		default:
			faults = append(faults, fmt.Sprintf("%s: unknown key; known are: scenario, params, timeline, tiers, seed, cancellation, name, url, token", key))
		}
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("%s", strings.Join(faults, "; "))
	}
	if d.url != "" {
		u, err := url.Parse(d.url)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Errorf("url: %q is not an absolute http or https URL", d.url)
		}
		d.url = strings.TrimRight(d.url, "/")
		return d, nil
	}
	if scenario == "" {
		return nil, fmt.Errorf("scenario: is missing; known are %s", strings.Join(scenarioNames(), ", "))
	}
	var err error
	if d.config.Scenario, err = downstream.ParseScenario(scenario, params); err != nil {
		return nil, err
	}
	if cancellation != "" {
		if d.config.Cancellation, err = downstream.ParseCancellation(cancellation); err != nil {
			return nil, err
		}
	}
	if d.name == "" {
		d.name = scenario
	}
	return d, nil
}

func scenarioNames() []string {
	var names []string
	for _, s := range downstream.Scenarios() {
		names = append(names, s.Name)
	}
	return names
}

// timeline reads the phases of a server: texts such as "10s outage for 5s".
func timeline(value any) ([]downstream.Phase, error) {
	texts, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("timeline: must be an array of strings such as '10s outage for 5s'; got %s", describe(value))
	}
	var phases []downstream.Phase
	for i, item := range texts {
		text, ok := item.(string)
		if !ok {
			return nil, fmt.Errorf("timeline[%d]: must be a string such as '10s outage for 5s'; got %s", i, describe(item))
		}
		phase, err := downstream.ParsePhase(text)
		if err != nil {
			return nil, fmt.Errorf("timeline[%d]: %w", i, err)
		}
		phases = append(phases, phase)
	}
	return phases, nil
}

// base is the server's address, or that of the first tier in front of it. The server in this process starts by it.
func (d *jsDownstream) base() (string, error) {
	if d.url != "" {
		return d.url, nil
	}
	return d.instance.module.serve(d.name, d.config, d.tiers)
}

// ask sends a request that is not a call: it counts nowhere.
func (d *jsDownstream) ask(method, path string, content []byte) ([]byte, error) {
	base, err := d.base()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(d.instance.host.Context(), adminTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, base+path, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	if d.token != "" {
		request.Header.Set("Authorization", "Bearer "+d.token)
	}
	answer, err := d.instance.host.Transport().RoundTrip(request)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, base+path, err)
	}
	defer answer.Body.Close()
	const limit = 16 << 20
	body, err := io.ReadAll(io.LimitReader(answer.Body, limit))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, base+path, err)
	}
	if answer.StatusCode >= 300 {
		return nil, fmt.Errorf("%s %s: status %s: %s", method, base+path, answer.Status, strings.TrimSpace(string(body[:min(len(body), 200)])))
	}
	return body, nil
}

// stats is the server's own account, as the script sees it and as Go does.
func (d *jsDownstream) stats() (tree sobek.Value, snapshot stats.Snapshot, err error) {
	body, err := d.ask(http.MethodGet, "/stats", nil)
	if err != nil {
		return nil, snapshot, err
	}
	if err := json.Unmarshal(body, &snapshot); err != nil {
		return nil, snapshot, fmt.Errorf("%s/stats: %w", d.url, err)
	}
	if snapshot.Scenario == "" {
		return nil, snapshot, fmt.Errorf("%s/stats is not of a retrylab server", d.url)
	}
	return d.instance.parse(body), snapshot, nil
}

// record pushes the server's own account as samples.
func (d *jsDownstream) record(s stats.Snapshot) {
	m := &d.instance.metrics
	tags := d.instance.host.Tags()
	now := time.Now()
	d.instance.host.Push(d.instance.host.Context(),
		Sample{Metric: m.serverCalls, Time: now, Tags: tags, Value: float64(s.Received)},
		Sample{Metric: m.serverAbandoned, Time: now, Tags: tags, Value: float64(s.Abandoned)},
		Sample{Metric: m.serverMaxInflight, Time: now, Tags: tags, Value: float64(s.MaxInflight)},
		Sample{Metric: m.serverResidual, Time: now, Tags: tags, Value: s.ResidualMs},
		Sample{Metric: m.serverBusy, Time: now, Tags: tags, Value: s.BusyMs},
	)
}
