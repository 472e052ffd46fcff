package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/retrylab/retrylab/runner/executor"
	"github.com/retrylab/retrylab/runner/summary"
	"github.com/retrylab/retrylab/runner/thresholds"
)

// Options are k6's, as far as the runner has them. A nil field was not set.
type Options struct {
	VUs        *int
	Iterations *int64
	Duration   *time.Duration

	Thresholds map[string][]thresholds.Spec
	Tags       map[string]string

	NoSetup, NoTeardown   *bool
	SetupTimeout          *time.Duration // default 60s
	TeardownTimeout       *time.Duration // default 60s
	HandleSummaryTimeout  *time.Duration // default 120s
	SummaryTrendStats     []string       // default avg, min, med, max, p(90), p(95)
	SummaryTimeUnit       *string        // s, ms, us or empty: one that fits
	UserAgent             *string
	MaxRedirects          *int // default 10
	Batch, BatchPerHost   *int // default 20 and 6
	Throw                 *bool
	NoConnectionReuse     *bool
	NoVUConnectionReuse   *bool
	NoCookiesReset        *bool
	InsecureSkipTLSVerify *bool
	DiscardResponseBodies *bool
}

// option is one of k6's options: how scripts and the environment call it, and
// how a value of it is read. A value from the environment is text, one from a
// script what JSON makes of it.
type option struct {
	key, env string
	set      func(o *Options, v any) error
}

// options are the options that the runner has.
func options() []option {
	return []option{
		{"vus", "K6_VUS", func(o *Options, v any) error { return integer(&o.VUs, v) }},
		{"iterations", "K6_ITERATIONS", func(o *Options, v any) error { return integer(&o.Iterations, v) }},
		{"duration", "K6_DURATION", func(o *Options, v any) error { return duration(&o.Duration, v) }},
		{"thresholds", "K6_THRESHOLDS", func(o *Options, v any) (err error) { o.Thresholds, err = criteria(v); return }},
		{"tags", "K6_TAGS", func(o *Options, v any) (err error) { o.Tags, err = pairs(v); return }},
		{"noSetup", "K6_NO_SETUP", func(o *Options, v any) error { return boolean(&o.NoSetup, v) }},
		{"noTeardown", "K6_NO_TEARDOWN", func(o *Options, v any) error { return boolean(&o.NoTeardown, v) }},
		{"setupTimeout", "K6_SETUP_TIMEOUT", func(o *Options, v any) error { return duration(&o.SetupTimeout, v) }},
		{"teardownTimeout", "K6_TEARDOWN_TIMEOUT", func(o *Options, v any) error { return duration(&o.TeardownTimeout, v) }},
		{"handleSummaryTimeout", "K6_HANDLE_SUMMARY_TIMEOUT", func(o *Options, v any) error { return duration(&o.HandleSummaryTimeout, v) }},
		{"summaryTrendStats", "K6_SUMMARY_TREND_STATS", func(o *Options, v any) (err error) { o.SummaryTrendStats, err = texts(v); return }},
		{"summaryTimeUnit", "K6_SUMMARY_TIME_UNIT", func(o *Options, v any) error { return text(&o.SummaryTimeUnit, v) }},
		{"userAgent", "K6_USER_AGENT", func(o *Options, v any) error { return text(&o.UserAgent, v) }},
		{"maxRedirects", "K6_MAX_REDIRECTS", func(o *Options, v any) error { return integer(&o.MaxRedirects, v) }},
		{"batch", "K6_BATCH", func(o *Options, v any) error { return integer(&o.Batch, v) }},
		{"batchPerHost", "K6_BATCH_PER_HOST", func(o *Options, v any) error { return integer(&o.BatchPerHost, v) }},
		{"throw", "K6_THROW", func(o *Options, v any) error { return boolean(&o.Throw, v) }},
		{"noConnectionReuse", "K6_NO_CONNECTION_REUSE", func(o *Options, v any) error { return boolean(&o.NoConnectionReuse, v) }},
		{"noVUConnectionReuse", "K6_NO_VU_CONNECTION_REUSE", func(o *Options, v any) error { return boolean(&o.NoVUConnectionReuse, v) }},
		{"noCookiesReset", "K6_NO_COOKIES_RESET", func(o *Options, v any) error { return boolean(&o.NoCookiesReset, v) }},
		{"insecureSkipTLSVerify", "K6_INSECURE_SKIP_TLS_VERIFY", func(o *Options, v any) error { return boolean(&o.InsecureSkipTLSVerify, v) }},
		{"discardResponseBodies", "K6_DISCARD_RESPONSE_BODIES", func(o *Options, v any) error { return boolean(&o.DiscardResponseBodies, v) }},
	}
}

// lacking are k6's options that the runner does not have, with their names in
// the environment. They are refused rather than ignored.
func lacking() map[string]string {
	return map[string]string{
		"stages": "K6_STAGES", "scenarios": "", "executionSegment": "", "executionSegmentSequence": "",
		"paused": "K6_PAUSED", "rps": "K6_RPS", "dns": "K6_DNS", "httpDebug": "K6_HTTP_DEBUG",
		"tlsCipherSuites": "K6_TLS_CIPHER_SUITES", "tlsVersion": "", "tlsAuth": "K6_TLSAUTH",
		"blacklistIPs": "K6_BLACKLIST_IPS", "blockHostnames": "K6_BLOCK_HOSTNAMES", "hosts": "K6_HOSTS",
		"minIterationDuration": "K6_MIN_ITERATION_DURATION", "systemTags": "K6_SYSTEM_TAGS",
		"localIPs": "K6_LOCAL_IPS", "consoleOutput": "K6_CONSOLE_OUTPUT",
	}
}

// harmless are k6's options that change nothing here.
func harmless(key string) bool {
	return key == "cloud" || key == "ext" || key == "metricSamplesBufferSize"
}

// ParseOptions reads the options that a script exports, as JSON. Its error
// names every fault; unknown keys are warnings, as in k6.
func ParseOptions(data []byte) (o Options, warnings []string, err error) {
	if len(data) == 0 {
		return o, nil, nil
	}
	var raw map[string]any
	if err := json.Unmarshal(data, &raw); err != nil {
		return o, nil, fmt.Errorf("options: want an object: %w", err)
	}
	known := make(map[string]option)
	for _, opt := range options() {
		known[opt.key] = opt
	}
	lacks := lacking()
	var faults []error
	for _, key := range slices.Sorted(maps.Keys(raw)) {
		v := raw[key]
		if v == nil {
			continue
		}
		if opt, ok := known[key]; ok {
			if err := opt.set(&o, v); err != nil {
				faults = append(faults, fmt.Errorf("options.%s: %w", key, err))
			}
			continue
		}
		if _, ok := lacks[key]; ok {
			faults = append(faults, fmt.Errorf("options.%s is not in the built-in runner; use a k6 build (see README)", key))
			continue
		}
		if !harmless(key) {
			warnings = append(warnings, fmt.Sprintf("unknown option %q in the script's options", key))
		}
	}
	return o, warnings, errors.Join(faults...)
}

// EnvOptions reads the options in an environment of KEY=value lines. Its error
// names every fault. Variables that are no options are none of its business.
func EnvOptions(environ []string) (Options, error) {
	env := make(map[string]string)
	for _, line := range environ {
		if k, v, ok := strings.Cut(line, "="); ok && strings.HasPrefix(k, "K6_") && v != "" {
			env[k] = v
		}
	}
	var o Options
	var faults []error
	for _, opt := range options() {
		if v, ok := env[opt.env]; ok {
			if err := opt.set(&o, v); err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", opt.env, err))
			}
		}
	}
	lacks := lacking()
	for _, key := range slices.Sorted(maps.Keys(lacks)) {
		if name := lacks[key]; name != "" && env[name] != "" {
			faults = append(faults, fmt.Errorf("%s is not in the built-in runner; use a k6 build (see README)", name))
		}
	}
	return o, errors.Join(faults...)
}

// Apply is o with what is set in over taken from there. How long a run is
// comes from one place: a duration or iterations in over clear both in o.
func (o Options) Apply(over Options) Options {
	if over.Duration != nil || over.Iterations != nil {
		o.Duration, o.Iterations = over.Duration, over.Iterations
	}
	take(&o.VUs, over.VUs)
	take(&o.NoSetup, over.NoSetup)
	take(&o.NoTeardown, over.NoTeardown)
	take(&o.SetupTimeout, over.SetupTimeout)
	take(&o.TeardownTimeout, over.TeardownTimeout)
	take(&o.HandleSummaryTimeout, over.HandleSummaryTimeout)
	take(&o.SummaryTimeUnit, over.SummaryTimeUnit)
	take(&o.UserAgent, over.UserAgent)
	take(&o.MaxRedirects, over.MaxRedirects)
	take(&o.Batch, over.Batch)
	take(&o.BatchPerHost, over.BatchPerHost)
	take(&o.Throw, over.Throw)
	take(&o.NoConnectionReuse, over.NoConnectionReuse)
	take(&o.NoVUConnectionReuse, over.NoVUConnectionReuse)
	take(&o.NoCookiesReset, over.NoCookiesReset)
	take(&o.InsecureSkipTLSVerify, over.InsecureSkipTLSVerify)
	take(&o.DiscardResponseBodies, over.DiscardResponseBodies)
	if over.Thresholds != nil {
		o.Thresholds = over.Thresholds
	}
	if over.Tags != nil {
		o.Tags = over.Tags
	}
	if over.SummaryTrendStats != nil {
		o.SummaryTrendStats = over.SummaryTrendStats
	}
	return o
}

func take[T any](to **T, from *T) {
	if from != nil {
		*to = from
	}
}

func or[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}

const (
	gracefulStop   = 30 * time.Second
	maxDuration    = 10 * time.Minute
	defaultTimeout = 60 * time.Second
	summaryTimeout = 2 * time.Minute
)

// Executor is what runs the options' iterations: a duration loops VUs, a
// number of iterations is shared among them (the duration then bounds it), and
// neither is, as in k6, one iteration of one VU, however many are asked for. The
// options must be valid.
func (o Options) Executor() executor.Executor {
	vus := or(o.VUs, 1)
	if o.lonelyVUs() {
		vus = 1
	}
	if o.Duration != nil && o.Iterations == nil {
		return executor.ConstantVUs{Users: vus, Duration: *o.Duration, GracefulStop: gracefulStop}
	}
	return executor.SharedIterations{
		Users: vus, Total: or(o.Iterations, int64(vus)),
		MaxDuration: or(o.Duration, maxDuration), GracefulStop: gracefulStop,
	}
}

// lonelyVUs says that there is a number of VUs and nothing for them to do.
func (o Options) lonelyVUs() bool {
	return o.VUs != nil && *o.VUs > 1 && o.Duration == nil && o.Iterations == nil
}

// Validate names every value that cannot be.
func (o Options) Validate() error {
	var faults []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	vus := or(o.VUs, 1)
	add(vus < 1, "vus: %d, want at least 1", vus)
	if o.Iterations != nil {
		add(*o.Iterations < 1, "iterations: %d, want at least 1", *o.Iterations)
		add(*o.Iterations >= 1 && vus >= 1 && *o.Iterations < int64(vus),
			"iterations: %d, want at least as many as there are VUs (%d)", *o.Iterations, vus)
	}
	for _, d := range []struct {
		name string
		d    *time.Duration
	}{
		{"duration", o.Duration}, {"setupTimeout", o.SetupTimeout},
		{"teardownTimeout", o.TeardownTimeout}, {"handleSummaryTimeout", o.HandleSummaryTimeout},
	} {
		add(d.d != nil && *d.d <= 0, "%s: %s, want more than 0", d.name, or(d.d, 0))
	}
	for _, n := range []struct {
		name  string
		n     *int
		least int
	}{{"maxRedirects", o.MaxRedirects, 0}, {"batch", o.Batch, 1}, {"batchPerHost", o.BatchPerHost, 1}} {
		add(n.n != nil && *n.n < n.least, "%s: %d, want at least %d", n.name, or(n.n, 0), n.least)
	}
	for _, s := range o.SummaryTrendStats {
		add(!summary.ValidStat(s), "summaryTrendStats: %q is none of avg, min, med, max, count, p(N) with N in [0, 100]", s)
	}
	if u := or(o.SummaryTimeUnit, ""); u != "" {
		add(u != "s" && u != "ms" && u != "us", "summaryTimeUnit: %q is none of s, ms, us", u)
	}
	return errors.Join(faults...)
}

func logWarnings(log logrus.FieldLogger, warnings []string) {
	for _, w := range warnings {
		log.Warn(w)
	}
}
