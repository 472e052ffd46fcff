package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2/maybe"
	"github.com/retrylab/retrylab/downstream/stats"
	"github.com/retrylab/retrylab/service"
)

// Record is what is written of a run beside its summary: NN-name.run.json.
type Record struct {
	Schema       string         `json:"schema"` // RecordSchema
	Lab          string         `json:"lab"`    // the same in all runs of one lab
	Plan         string         `json:"plan"`
	Mode         string         `json:"mode"`
	Number       int            `json:"number"`
	Name         string         `json:"name"`
	Variant      string         `json:"variant,omitempty"`
	Repetition   int            `json:"repetition"` // from 1
	Repetitions  int            `json:"repetitions"`
	Policy       PolicyRecord   `json:"policy"`
	Scenario     ScenarioRecord `json:"scenario"`
	Script       string         `json:"script"`
	Seed         uint64         `json:"seed"`
	VUs          int            `json:"vus"`            // of a closed loop; 0: it was none
	Rate         float64        `json:"rate,omitempty"` // of an open loop, in requests per second
	DurationMs   int64          `json:"duration_ms"`    // as asked for
	Runner       RunnerRecord   `json:"runner"`
	Machine      Machine        `json:"machine"`
	StartedAt    time.Time      `json:"started_at"`
	EndedAt      time.Time      `json:"ended_at"`
	ExitCode     int            `json:"exit_code"`
	Interrupted  bool           `json:"interrupted"`
	ErrorMessage string         `json:"error,omitempty"` // the last line that a failed runner wrote
	Downstream   stats.Snapshot `json:"downstream"`

	// Tiers are the accounts of the services in front of the server, as a
	// request meets them; nil: there were none.
	Tiers []service.TierStats `json:"tiers,omitempty"`
}

// RecordSchema names the shape of Record.
const RecordSchema = "retrylab/run/1"

// PolicyRecord is a policy in the figures that its expected values need.
type PolicyRecord struct {
	Name             string   `json:"name"`
	MaxAttempts      int      `json:"max_attempts"`
	AttemptTimeoutMs float64  `json:"attempt_timeout_ms"` // 0: none
	Guards           []string `json:"guards"`             // outermost first
	Budget           string   `json:"budget,omitempty"`   // kind of its retry budget
}

// ScenarioRecord is a failure mode with all its parameters.
type ScenarioRecord struct {
	Name         string         `json:"name"`
	Params       map[string]any `json:"params"`
	Cancellation string         `json:"cancellation"`
}

// RunnerRecord names what ran the script.
type RunnerRecord struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Machine is where a lab ran.
type Machine struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
	Go   string `json:"go"`
}

// summarySuffix ends the name of a run's summary.
const summarySuffix = ".summary.json"

// fileName is the common start of a run's files.
func fileName(number int, name string, repetition, repetitions int) string {
	base := fmt.Sprintf("%02d-%s", number, name)
	if repetitions > 1 {
		base += fmt.Sprintf("-r%d", repetition)
	}
	return base
}

// claimFile marks a folder as that of one lab.
const claimFile = "lab.json"

// ErrResultsTaken says that a results folder holds another lab.
var ErrResultsTaken = errors.New("already holds a lab; choose another folder with --out")

// Claim makes a results folder, or takes an existing one that holds no lab, and
// marks it as this lab's. Of two labs that want the same folder one gets it.
func Claim(dir string, p Plan, m Mode) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("results folder: %w", err)
	}
	for _, pattern := range []string{"*.run.json", "*.summary.json", "comparison.*"} {
		found, err := filepath.Glob(filepath.Join(escapeGlob(dir), pattern))
		if err != nil {
			return fmt.Errorf("results folder %s: %w", dir, err)
		}
		if len(found) > 0 {
			return fmt.Errorf("results folder %s %w", dir, ErrResultsTaken)
		}
	}
	f, err := os.OpenFile(filepath.Join(dir, claimFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("results folder %s %w", dir, ErrResultsTaken)
	}
	if err != nil {
		return fmt.Errorf("results folder: %w", err)
	}
	e := json.NewEncoder(f)
	e.SetIndent("", "  ")
	return errors.Join(e.Encode(map[string]any{
		"plan": p.Name, "mode": m.Name, "vus": m.VUs, "rate": m.Rate, "duration_ms": m.Duration.Milliseconds(),
		"repetitions": m.Repetitions, "runs": len(p.Runs), "started_at": time.Now(),
	}), f.Close())
}

// ClaimNew claims a new folder under root, named after the plan, the mode and
// the time, and returns it.
func ClaimNew(root string, p Plan, m Mode) (string, error) {
	name := fmt.Sprintf("%s-%s-%s", p.Name, m.Name, time.Now().Format("20060102-150405"))
	for k := 1; ; k++ {
		dir := filepath.Join(root, name)
		if k > 1 {
			dir += fmt.Sprintf("-%d", k)
		}
		err := Claim(dir, p, m)
		if !errors.Is(err, ErrResultsTaken) {
			return dir, err
		}
	}
}

// escapeGlob makes a folder's name stand for itself in a pattern.
func escapeGlob(dir string) string {
	escaped := make([]rune, 0, len(dir))
	for _, c := range dir {
		switch c {
		case '*', '?', '[', '\\':
			escaped = append(escaped, '\\')
		}
		escaped = append(escaped, c)
	}
	return string(escaped)
}

// write puts a record into the folder, whole or not at all.
func (r Record) write(dir string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("record of run %s: %w", r.Name, err)
	}
	path := filepath.Join(dir, fileName(r.Number, r.Name, r.Repetition, r.Repetitions)+".run.json")
	return maybe.WriteFile(path, append(data, '\n'), 0o644)
}
