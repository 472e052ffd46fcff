package jsmodule

import (
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
	thrown := func(err error) {
		if err != nil {
			panic(rt.NewGoError(err))
		}
	}
	get := rt.ToValue(func(sobek.FunctionCall) sobek.Value {
		base, err := d.base()
		thrown(err)
		return rt.ToValue(base)
	})
	if err := call.This.DefineAccessorProperty("url", get, nil, sobek.FLAG_FALSE, sobek.FLAG_TRUE); err != nil {
		panic(err)
	}
	set(call.This, "stats", func(sobek.FunctionCall) sobek.Value {
		tree, _, err := d.stats()
		thrown(err)
		return rt.ToValue(tree)
	})
	set(call.This, "record", func(sobek.FunctionCall) sobek.Value {
		tree, snapshot, err := d.stats()
		if err != nil {
			i.host.Logger().WithError(err).Warn("the server keeps no account that can be read: downstream_* metrics are missing")
			return sobek.Null()
		}
		d.record(snapshot)
		return rt.ToValue(tree)
	})
	set(call.This, "reset", func(sobek.FunctionCall) sobek.Value {
		_, err := d.ask(http.MethodPost, "/reset")
		thrown(err)
		return sobek.Undefined()
	})
	return nil
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
			faults = append(faults, key+": must be a text")
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
				faults = append(faults, "params: must be an object")
			}
		case "seed":
			seed, ok := value.(int64)
			if !ok || seed < 0 {
				faults = append(faults, fmt.Sprintf("seed: %v is not a whole number from 0", value))
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
		if err != nil || u.Host == "" {
			return nil, fmt.Errorf("url: %q is not an absolute URL", d.url)
		}
		d.url = strings.TrimRight(d.url, "/")
		return d, nil
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

// timeline reads the phases of a server: texts such as "10s outage for 5s".
func timeline(value any) ([]downstream.Phase, error) {
	texts, ok := value.([]any)
	if !ok {
		return nil, errors.New("timeline: must be a list of texts such as '10s outage for 5s'")
	}
	var phases []downstream.Phase
	for i, item := range texts {
		text, ok := item.(string)
		if !ok {
			return nil, fmt.Errorf("timeline[%d]: must be a text such as '10s outage for 5s'", i)
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
func (d *jsDownstream) ask(method, path string) ([]byte, error) {
	if d.instance.host.InitContext() {
		return nil, fmt.Errorf("no calls can be made in the init context")
	}
	base, err := d.base()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(d.instance.host.Context(), adminTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, base+path, http.NoBody)
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
		return nil, fmt.Errorf("%s %s: status %s", method, base+path, answer.Status)
	}
	return body, nil
}

func (d *jsDownstream) stats() (tree any, snapshot stats.Snapshot, err error) {
	body, err := d.ask(http.MethodGet, "/stats")
	if err != nil {
		return nil, snapshot, err
	}
	if err := errors.Join(json.Unmarshal(body, &snapshot), json.Unmarshal(body, &tree)); err != nil {
		return nil, snapshot, fmt.Errorf("stats of the downstream: %w", err)
	}
	if snapshot.Scenario == "" {
		return nil, snapshot, fmt.Errorf("stats of the downstream: %s/stats is not of a retrylab server", d.url)
	}
	return tree, snapshot, nil
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
