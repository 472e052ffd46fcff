package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// runSchema is the schema of run.json files that is read.
const runSchema = "retrylab/run/1"

// maxAttempts bounds what is believed of a policy.
const maxAttempts = 1_000_000

// runFile is a run.json: what was run, and what the server counted.
type runFile struct {
	Schema     string   `json:"schema"`
	Plan       string   `json:"plan"`
	Mode       string   `json:"mode"`
	Lab        string   `json:"lab"`
	Number     int      `json:"number"`
	Name       string   `json:"name"`
	Variant    string   `json:"variant"`
	Repetition int      `json:"repetition"`
	Policy     Policy   `json:"policy"`
	Scenario   scenario `json:"scenario"`
	Seed       uint64   `json:"seed"`
	VUs        int      `json:"vus"`
	Rate       float64  `json:"rate"`
	DurationMS float64  `json:"duration_ms"`
	Script     string   `json:"script"`
	Runner     struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"runner"`
	Machine struct {
		OS   string `json:"os"`
		Arch string `json:"arch"`
		CPUs int    `json:"cpus"`
		Go   string `json:"go"`
	} `json:"machine"`
	StartedAt   time.Time      `json:"started_at"`
	EndedAt     time.Time      `json:"ended_at"`
	ExitCode    int            `json:"exit_code"`
	Interrupted bool           `json:"interrupted"`
	Downstream  map[string]any `json:"downstream"`
	Tiers       []Tier         `json:"tiers"`
}

// scenario is a Scenario whose parameters may be other than numbers; no formula
// asks for such.
type scenario struct {
	Name         string         `json:"name"`
	Params       map[string]any `json:"params"`
	Cancellation string         `json:"cancellation"`
}

func (s scenario) public() Scenario {
	return Scenario{Name: s.Name, Cancellation: s.Cancellation, Params: numbers(s.Params)}
}

// numbers are the values that are numbers; nil if there are no values at all.
func numbers(values map[string]any) map[string]float64 {
	if values == nil {
		return nil
	}
	out := make(map[string]float64, len(values))
	for key, value := range values {
		if v, ok := value.(float64); ok {
			out[key] = v
		}
	}
	return out
}

func parseRun(data []byte) (runFile, error) {
	var file runFile
	if err := json.Unmarshal(data, &file); err != nil {
		return runFile{}, fmt.Errorf("not a run.json: %w", err)
	}
	switch {
	case file.Schema != runSchema:
		return runFile{}, fmt.Errorf("its schema is %q: only %q is read", file.Schema, runSchema)
	case file.Name == "":
		return runFile{}, errors.New("it has no name")
	case file.Number < 0 || file.Repetition < 0 || file.VUs < 0 || file.Rate < 0:
		return runFile{}, errors.New("number, repetition, vus or rate is below 0")
	case file.Policy.MaxAttempts < 0 || file.Policy.MaxAttempts > maxAttempts:
		return runFile{}, fmt.Errorf("max_attempts %d is not in 0 to %d", file.Policy.MaxAttempts, maxAttempts)
	case file.DurationMS < 0 || file.Policy.AttemptTimeoutMS < 0:
		return runFile{}, errors.New("duration_ms or attempt_timeout_ms is below 0")
	}
	return file, nil
}

// setup is the file's account of how the run was made.
func (f runFile) setup() *Setup {
	machine := strings.Trim(f.Machine.OS+"/"+f.Machine.Arch, "/")
	if f.Machine.CPUs > 0 {
		machine += fmt.Sprintf(", %d CPUs", f.Machine.CPUs)
	}
	if f.Machine.Go != "" {
		machine += ", " + f.Machine.Go
	}
	return &Setup{
		Plan: f.Plan, Mode: f.Mode, Script: f.Script, Seed: f.Seed, VUs: f.VUs, Rate: f.Rate,
		DurationMS: f.DurationMS,
		Runner:     strings.TrimSpace(f.Runner.Name + " " + f.Runner.Version),
		Machine:    machine, StartedAt: f.StartedAt, EndedAt: f.EndedAt, ExitCode: f.ExitCode,
	}
}
