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
	Stages     []executor.Stage
	Scenarios  []Scenario // by name

	ExecutionSegment         *executor.Segment // default the whole
	ExecutionSegmentSequence *string
	MinIterationDuration     *time.Duration // default, and 0: an iteration takes as long as it takes

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

	SystemTags                   []string // nil means k6's default ones, empty none
	RPS                          *int     // HTTP requests a second of the whole run; default, and 0: as many as come
	HTTPDebug                    *string  // headers, full or empty: nothing is logged
	Hosts                        map[string]string
	BlockHostnames, BlacklistIPs []string
	TLSVersion                   *TLSVersions
	TLSCipherSuites              []string
	TLSAuth                      []TLSAuth
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
		{"stages", "K6_STAGES", func(o *Options, v any) (err error) { o.Stages, err = stages(v); return }},
		{"scenarios", "", func(o *Options, v any) (err error) { o.Scenarios, err = scenarios(v); return }},
		{"executionSegment", "", func(o *Options, v any) error { return segment(&o.ExecutionSegment, v) }},
		{"executionSegmentSequence", "", func(o *Options, v any) error { return text(&o.ExecutionSegmentSequence, v) }},
		{"minIterationDuration", "K6_MIN_ITERATION_DURATION", func(o *Options, v any) error { return duration(&o.MinIterationDuration, v) }},
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
		{"systemTags", "K6_SYSTEM_TAGS", func(o *Options, v any) (err error) { o.SystemTags, err = texts(v); return }},
		{"rps", "K6_RPS", func(o *Options, v any) error { return integer(&o.RPS, v) }},
		{"httpDebug", "K6_HTTP_DEBUG", func(o *Options, v any) error { return text(&o.HTTPDebug, v) }},
		{"hosts", "K6_HOSTS", func(o *Options, v any) (err error) { o.Hosts, err = hosts(v); return }},
		{"blockHostnames", "K6_BLOCK_HOSTNAMES", func(o *Options, v any) (err error) { o.BlockHostnames, err = texts(v); return }},
		{"blacklistIPs", "K6_BLACKLIST_IPS", func(o *Options, v any) (err error) { o.BlacklistIPs, err = texts(v); return }},
		{"tlsVersion", "", func(o *Options, v any) (err error) { o.TLSVersion, err = tlsVersions(v); return }},
		{"tlsCipherSuites", "K6_TLS_CIPHER_SUITES", func(o *Options, v any) (err error) { o.TLSCipherSuites, err = texts(v); return }},
		{"tlsAuth", "K6_TLSAUTH", func(o *Options, v any) (err error) { o.TLSAuth, err = tlsAuth(v); return }},
	}
}

// lacking are k6's options that the runner does not have, with their names in
// the environment. They are refused rather than ignored.
func lacking() map[string]string {
	return map[string]string{
		"paused": "K6_PAUSED", "dns": "K6_DNS",
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
				for _, fault := range unjoin(err) {
					faults = append(faults, fmt.Errorf("options.%s: %w", key, fault))
				}
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

// TextOptions reads options from text, by their keys in scripts, as flags give
// them. Its error names every fault by what name says of the key.
func TextOptions(texts map[string]string, name func(key string) string) (Options, error) {
	var o Options
	var faults []error
	for _, opt := range options() {
		if text, ok := texts[opt.key]; ok {
			if err := opt.set(&o, text); err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", name(opt.key), err))
			}
		}
	}
	return o, errors.Join(faults...)
}

// Apply is o with what is set in over taken from there. How much load there is
// comes from one place: a duration, iterations, stages or scenarios in over
// clear all of these in o.
func (o Options) Apply(over Options) Options {
	if over.Duration != nil || over.Iterations != nil || over.Stages != nil || over.Scenarios != nil {
		o.Duration, o.Iterations, o.Stages, o.Scenarios = over.Duration, over.Iterations, over.Stages, over.Scenarios
	}
	take(&o.ExecutionSegment, over.ExecutionSegment)
	take(&o.ExecutionSegmentSequence, over.ExecutionSegmentSequence)
	take(&o.MinIterationDuration, over.MinIterationDuration)
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
	take(&o.RPS, over.RPS)
	take(&o.HTTPDebug, over.HTTPDebug)
	take(&o.TLSVersion, over.TLSVersion)
	if over.Thresholds != nil {
		o.Thresholds = over.Thresholds
	}
	if over.Tags != nil {
		o.Tags = over.Tags
	}
	if over.SummaryTrendStats != nil {
		o.SummaryTrendStats = over.SummaryTrendStats
	}
	if over.Hosts != nil {
		o.Hosts = over.Hosts
	}
	if over.TLSAuth != nil {
		o.TLSAuth = over.TLSAuth
	}
	takeList(&o.SystemTags, over.SystemTags)
	takeList(&o.BlockHostnames, over.BlockHostnames)
	takeList(&o.BlacklistIPs, over.BlacklistIPs)
	takeList(&o.TLSCipherSuites, over.TLSCipherSuites)
	return o
}

func take[T any](to **T, from *T) {
	if from != nil {
		*to = from
	}
}

func takeList(to *[]string, from []string) {
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

// Validate names every value that cannot be.
func (o Options) Validate() error {
	var faults []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	if _, err := o.Plan(); err != nil {
		faults = append(faults, err)
	}
	if err := executor.CheckSequence(or(o.ExecutionSegmentSequence, ""), or(o.ExecutionSegment, executor.Segment{})); err != nil {
		faults = append(faults, fmt.Errorf("executionSegment: %w", err))
	}
	for _, d := range []struct {
		name string
		d    *time.Duration
	}{
		{"setupTimeout", o.SetupTimeout},
		{"teardownTimeout", o.TeardownTimeout}, {"handleSummaryTimeout", o.HandleSummaryTimeout},
	} {
		add(d.d != nil && *d.d <= 0, "%s: %s, want more than 0", d.name, or(d.d, 0))
	}
	for _, n := range []struct {
		name  string
		n     *int
		least int
	}{{"maxRedirects", o.MaxRedirects, 0}, {"batch", o.Batch, 1}, {"batchPerHost", o.BatchPerHost, 0}} {
		add(n.n != nil && *n.n < n.least, "%s: %d, want at least %d", n.name, or(n.n, 0), n.least)
	}
	for _, s := range o.SummaryTrendStats {
		add(!summary.ValidStat(s), "summaryTrendStats: %q is none of avg, min, med, max, count, p(N) with N in [0, 100]", s)
	}
	if u := or(o.SummaryTimeUnit, ""); u != "" {
		add(u != "s" && u != "ms" && u != "us", "summaryTimeUnit: %q is none of s, ms, us", u)
	}
	_, err := o.settings()
	_, nerr := o.network()
	return errors.Join(append(faults, err, nerr)...)
}

func logWarnings(log logrus.FieldLogger, warnings []string) {
	for _, w := range warnings {
		log.Warn(w)
	}
}
