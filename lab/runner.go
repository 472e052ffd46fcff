package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Runner is a program that runs k6 scripts: retrylab's own, or a k6 build.
type Runner struct {
	Name    string // "retrylab" or "k6"
	Version string
	Path    string   // of the program
	Args    []string // before the script and its flags, such as "run"
}

// stopPatience is how long an interrupted runner may take to write its
// summary before it is killed.
const stopPatience = 10 * time.Second

// trendStats are the figures of each trend that a comparison reads.
const trendStats = "avg,min,med,max,p(90),p(95),p(99),count"

// job is one execution of a script.
type job struct {
	script  string
	env     []string // NAME=value, for the script
	mode    Mode
	once    bool      // one iteration, which may take the mode's length at the most
	log     io.Writer // gets what the script logs; nil: it is kept for an error
	summary string    // path of the summary to be written
}

func (r Runner) arguments(j job) []string {
	args := append([]string{}, r.Args...)
	if j.mode.Rate == 0 { // else the script has a scenario, which flags would replace
		args = append(args, "--vus", fmt.Sprint(j.mode.VUs), "--duration", j.mode.Duration.String())
	}
	args = append(args,
		"--summary-export", j.summary, "--summary-trend-stats", trendStats,
		"--quiet")
	if j.once {
		args = append(args, "--iterations", "1")
	}
	if j.log == nil {
		args = append(args, "--no-color")
	}
	for _, e := range j.env {
		args = append(args, "--env", e)
	}
	return append(args, j.script)
}

// run executes a script in a process of its own and waits for its end. The
// exit code is -1 where a signal ended it. When ctx ends the process is
// interrupted, and killed if it does not stop, or when hard ends, which may be
// nil. What it has started itself goes the same way. The returned text is the
// last line that it wrote.
func (r Runner) run(ctx, hard context.Context, j job) (exitCode int, lastLine string, err error) {
	if hard == nil {
		hard = context.WithoutCancel(ctx)
	}
	// A child must not outlive a lab that was killed. The kernel ties that to
	// the thread which started the child, so this goroutine keeps its thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	var log tail
	cmd := exec.Command(r.Path, r.arguments(j)...)
	cmd.Stdout, cmd.Stderr = io.Discard, &log
	if j.log != nil {
		fmt.Fprintln(&log, "its log is above")
		cmd.Stderr = j.log
	}
	cmd.SysProcAttr = childAttributes()
	cmd.Env = withoutOptions(os.Environ())
	cmd.WaitDelay = time.Second // for what it has started to let go of its streams
	if err := cmd.Start(); err != nil {
		return -1, "", fmt.Errorf("start of %s: %w", r.Path, err)
	}
	ended := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-ended:
			return
		case <-ctx.Done():
		}
		interruptGroup(cmd.Process)
		select {
		case <-ended:
		case <-hard.Done():
		case <-time.After(stopPatience):
		}
		killGroup(cmd.Process)
	}()
	waited := cmd.Wait()
	close(ended)
	<-stopped
	var exit *exec.ExitError
	if waited != nil && !errors.As(waited, &exit) && !errors.Is(waited, exec.ErrWaitDelay) {
		return -1, log.lastLine(), fmt.Errorf("%s: %w", r.Path, waited)
	}
	return cmd.ProcessState.ExitCode(), log.lastLine(), nil
}

// withoutOptions leaves out the environment's options of k6: a lab's runs have
// those of its plan.
func withoutOptions(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(e string) bool { return strings.HasPrefix(e, "K6_") })
}

// tail keeps the end of what is written to it.
type tail struct {
	kept bytes.Buffer
}

const tailLimit = 16 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.kept.Write(p)
	if surplus := t.kept.Len() - tailLimit; surplus > 0 {
		t.kept.Next(surplus)
	}
	return len(p), nil
}

func (t *tail) lastLine() string {
	lines := strings.Split(strings.TrimSpace(t.kept.String()), "\n")
	return lines[len(lines)-1]
}
