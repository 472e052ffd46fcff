package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/retrylab/retrylab/downstream/stats"
)

// Record is what is written of a run beside its summary: NN-name.run.json.
type Record struct {
	Schema       string         `json:"schema"` // RecordSchema
	Lab          string         `json:"lab"`    // the same in all runs of one lab
	Plan         string         `json:"plan"`
	Mode         string         `json:"mode"`
	Number       int            `json:"number"`
	Name         string         `json:"name"`
	Repetition   int            `json:"repetition"` // from 1
	Repetitions  int            `json:"repetitions"`
	Policy       PolicyRecord   `json:"policy"`
	Scenario     ScenarioRecord `json:"scenario"`
	Script       string         `json:"script"`
	Seed         uint64         `json:"seed"`
	VUs          int            `json:"vus"`
	DurationMs   int64          `json:"duration_ms"` // as asked for
	Runner       RunnerRecord   `json:"runner"`
	Machine      Machine        `json:"machine"`
	StartedAt    time.Time      `json:"started_at"`
	EndedAt      time.Time      `json:"ended_at"`
	ExitCode     int            `json:"exit_code"`
	Interrupted  bool           `json:"interrupted"`
	ErrorMessage string         `json:"error,omitempty"` // the last line that a failed runner wrote
	Downstream   stats.Snapshot `json:"downstream"`
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

// fileName is the common start of a run's files.
func fileName(number int, name string, repetition, repetitions int) string {
	base := fmt.Sprintf("%02d-%s", number, name)
	if repetitions > 1 {
		base += fmt.Sprintf("-r%d", repetition)
	}
	return base
}

// ErrResultsTaken says that a results folder holds another lab.
var ErrResultsTaken = errors.New("already holds results of a lab; choose another folder with --out")

// claim makes the results folder, or takes an existing one that holds no lab.
func claim(dir string) error {
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
	return nil
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

// DefaultFolder is a results folder of its own for a lab that starts now.
func DefaultFolder(root string, p Plan, m Mode, now time.Time) string {
	return filepath.Join(root, fmt.Sprintf("%s-%s-%s", p.Name, m.Name, now.Format("20060102-150405")))
}

// write puts a record into the folder, whole or not at all.
func (r Record) write(dir string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("record of run %s: %w", r.Name, err)
	}
	return writeAtomically(filepath.Join(dir, fileName(r.Number, r.Name, r.Repetition, r.Repetitions)+".run.json"), append(data, '\n'))
}

func writeAtomically(path string, data []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // fails once it was renamed, as it should
	if _, err := temp.Write(data); err != nil {
		temp.Close()
		return err
	}
	if err := temp.Chmod(0o644); err != nil {
		temp.Close()
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}
