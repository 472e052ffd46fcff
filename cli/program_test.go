package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// program is the command in a process of its own, as a user starts it.
type program struct {
	cmd  *exec.Cmd
	url  string // that it serves
	out  bytes.Buffer
	log  bytes.Buffer
	told chan struct{} // closed when log is complete
}

// startProgram starts a verb that serves, and waits until it says where. It is killed when the test, or
// limit, is over.
func startProgram(t *testing.T, limit time.Duration, args ...string) *program {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	p := &program{cmd: exec.CommandContext(ctx, "retrylab", args...), told: make(chan struct{})}
	p.cmd.Stdout = &p.out
	pipe, err := p.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	lines := bufio.NewScanner(pipe)
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	for p.url == "" && lines.Scan() {
		p.log.WriteString(lines.Text() + "\n")
		p.url = url.FindString(lines.Text())
	}
	go func() {
		defer close(p.told)
		for lines.Scan() {
			p.log.WriteString(lines.Text() + "\n")
		}
	}()
	if p.url == "" {
		<-p.told
		require.Fail(t, "it does not say where it serves", p.log.String())
	}
	return p
}

// end sends a signal, waits for the end, and returns the exit code. What the program printed on stdout
// is read into account, as JSON.
func (p *program) end(t *testing.T, signal os.Signal, account any) int {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(signal))
	<-p.told
	_ = p.cmd.Wait() // the code says it
	require.NoError(t, json.Unmarshal(p.out.Bytes(), account), "%s%s", &p.out, &p.log)
	return p.cmd.ProcessState.ExitCode()
}
