package runner

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strings"
	"time"
	"unicode"

	"github.com/retrylab/retrylab/runner/executor"
	"github.com/retrylab/retrylab/runner/thresholds"
)

// JSON is the options under k6's names, null where they were not set, with the
// scenarios that they amount to in place of vus, duration, iterations and
// stages.
func (o Options) JSON() (json.RawMessage, error) {
	plan, err := o.Plan()
	if err != nil {
		return nil, err
	}
	out := make(map[string]any)
	v := reflect.ValueOf(o)
	for i := range v.NumField() {
		out[optionKey(v.Type().Field(i).Name)] = plain(v.Field(i))
	}
	for _, key := range []string{"vus", "duration", "iterations", "stages"} {
		delete(out, key)
	}
	scenarios := make(map[string]any, len(plan))
	for _, s := range plan {
		scenarios[s.Name] = s.fields()
	}
	out["scenarios"] = scenarios
	return json.Marshal(out)
}

// optionKey is k6's name of a field of Options: RPS is rps, TLSAuth is tlsAuth.
func optionKey(field string) string {
	if field == "VUs" {
		return "vus"
	}
	upper := len(field) - len(strings.TrimLeftFunc(field, unicode.IsUpper))
	if upper > 1 && upper < len(field) {
		upper-- // the last of them begins the next word
	}
	return strings.ToLower(field[:upper]) + field[upper:]
}

// plain is an option's value as JSON has it.
func plain(v reflect.Value) any {
	if v.IsNil() {
		return nil
	}
	switch value := v.Interface().(type) {
	case *time.Duration:
		return value.String()
	case *executor.Segment:
		return value.String()
	case map[string][]thresholds.Spec:
		out := make(map[string][]any, len(value))
		for name, specs := range value {
			for _, spec := range specs {
				out[name] = append(out[name], criterionJSON(spec))
			}
		}
		return out
	default:
		return value
	}
}

func criterionJSON(s thresholds.Spec) any {
	if !s.AbortOnFail && s.DelayAbortEval == 0 {
		return s.Source
	}
	return map[string]any{"threshold": s.Source, "abortOnFail": s.AbortOnFail, "delayAbortEval": s.DelayAbortEval.String()}
}

// fields are a scenario's under k6's names.
func (s Scenario) fields() map[string]any {
	out := map[string]any{
		"executor": s.Executor.Type(), "startTime": s.StartTime.String(), "exec": cmp.Or(s.Exec, "default"), "env": s.Env, "tags": s.Tags,
	}
	switch e := s.Executor.(type) {
	case executor.SharedIterations:
		out["vus"], out["iterations"], out["maxDuration"], out["gracefulStop"] = e.VUs, e.Total, e.MaxDuration.String(), e.GracefulStop.String()
	case executor.PerVUIterations:
		out["vus"], out["iterations"], out["maxDuration"], out["gracefulStop"] = e.VUs, e.Each, e.MaxDuration.String(), e.GracefulStop.String()
	case executor.ConstantVUs:
		out["vus"], out["duration"], out["gracefulStop"] = e.VUs, e.Duration.String(), e.GracefulStop.String()
	case executor.RampingVUs:
		out["startVUs"], out["stages"] = e.StartVUs, stagesJSON(e.Stages)
		out["gracefulRampDown"], out["gracefulStop"] = e.GracefulRampDown.String(), e.GracefulStop.String()
	case executor.ArrivalRate:
		out["timeUnit"], out["gracefulStop"] = e.TimeUnit.String(), e.GracefulStop.String()
		out["preAllocatedVUs"], out["maxVUs"] = e.PreAllocatedVUs, e.MaxVUs
		if e.Constant {
			out["rate"], out["duration"] = e.Stages[0].Target, e.Stages[0].Duration.String()
		} else {
			out["startRate"], out["stages"] = e.StartRate, stagesJSON(e.Stages)
		}
	}
	return out
}

func stagesJSON(stages []executor.Stage) []map[string]any {
	out := make([]map[string]any, len(stages))
	for i, s := range stages {
		out[i] = map[string]any{"duration": s.Duration.String(), "target": s.Target}
	}
	return out
}
