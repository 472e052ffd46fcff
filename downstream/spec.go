package downstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ParseConfig reads a configuration written as a JSON object:
//
//	{"scenario": "overload", "params": {"servers": 4}, "seed": 7, "cancellation": "mid-work",
//	 "timeline": ["10s outage for 5s", {"at": "30s", "scenario": "outage", "params": {"mode": "hang"}}],
//	 "token": "…"}
//
// What is absent or null keeps its value in base; params without a scenario are those of base's
// scenario, the others at their defaults. Keys that are among others are left to the caller. The error joins
// one line for every fault found.
func ParseConfig(data []byte, base Config, others ...string) (Config, error) {
	var given map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&given); err != nil {
		return Config{}, fmt.Errorf("not a JSON object: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return Config{}, errors.New("not a JSON object: more follows its end")
	}
	if given == nil {
		return Config{}, errors.New("not a JSON object: null")
	}
	c, errs := base, []error(nil)
	fail := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	text := func(key string) (string, bool) {
		s, ok := given[key].(string)
		if !ok && given[key] != nil {
			fail(fmt.Errorf("%s: must be a text", key))
		}
		return s, ok
	}
	fail(c.takeScenario(given, text))
	if s, ok := text("cancellation"); ok {
		var err error
		c.Cancellation, err = ParseCancellation(s)
		fail(err)
	}
	if s, ok := text("token"); ok {
		c.Token = s
	}
	if seed := given["seed"]; seed != nil {
		number, _ := seed.(json.Number)
		if json.Unmarshal([]byte(number), &c.Seed) != nil {
			fail(fmt.Errorf("seed: %q is not a whole number from 0 to 18446744073709551615", fmt.Sprint(seed)))
		}
	}
	if given["timeline"] != nil {
		fail(c.takeTimeline(given["timeline"]))
	}
	known := append([]string{"scenario", "params", "seed", "cancellation", "timeline", "token"}, others...)
	var unknown []string
	for key := range given {
		if !slices.Contains(known, key) {
			unknown = append(unknown, key)
		}
	}
	slices.Sort(unknown)
	for _, key := range unknown {
		fail(fmt.Errorf("unknown key %.60q; known are %s", key, strings.Join(known, ", ")))
	}
	if errs != nil {
		return Config{}, errors.Join(errs...)
	}
	return c, nil
}

func (c *Config) takeScenario(given map[string]any, text func(string) (string, bool)) error {
	name, named := text("scenario")
	params, isObject := given["params"].(map[string]any)
	switch {
	case !isObject && given["params"] != nil:
		return errors.New("params: must be an object")
	case !named && (!isObject || given["scenario"] != nil):
		return nil
	case !named && c.Scenario.fault == nil:
		return errors.New("params: given without a scenario")
	case !named:
		name = c.Scenario.Name()
	}
	scenario, err := ParseScenario(name, params)
	if err == nil {
		c.Scenario = scenario
	}
	return err
}

func (c *Config) takeTimeline(given any) error {
	list, ok := given.([]any)
	if !ok {
		return errors.New("timeline: must be a list")
	}
	c.Timeline = nil
	var errs []error
	for i, item := range list {
		var p Phase
		var err error
		switch item := item.(type) {
		case string:
			p, err = ParsePhase(item)
		case map[string]any:
			p, err = phaseOf(item)
		default:
			err = errors.New("must be a text or an object")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("timeline[%d]: %w", i, err))
			continue
		}
		c.Timeline = append(c.Timeline, p)
	}
	if errs == nil {
		errs = checkTimeline(c.Timeline)
	}
	return errors.Join(errs...)
}
