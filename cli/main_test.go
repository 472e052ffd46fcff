package cli_test

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/retrylab/retrylab/cli"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"retrylab": func() {
			os.Exit(cli.Main(os.Args[1:], cli.Streams{Out: os.Stdout, Err: os.Stderr}))
		},
	})
}

// TestScripts runs the command as a user does. Beside testscript's own
// commands there are:
//
//	exits CODE COMMAND [ARG...]               the exit code must be this one
//	interrupted REGEXP CODE COMMAND [ARG...]  Ctrl-C once a line on stderr matches; then the same.
//	                                          A group of the regexp is a URL to be called before it.
func TestScripts(t *testing.T) {
	scripts, err := filepath.Abs("../scripts")
	require.NoError(t, err)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("SCRIPTS", scripts)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":       exits,
			"interrupted": interrupted,
		},
		RequireExplicitExec: true,
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	checkExit(ts, args[0], ts.Exec(args[1], args[2:]...))
}

func checkExit(ts *testscript.TestScript, want string, err error) {
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != want {
		ts.Fatalf("exit code %d, want %s", code, want)
	}
}

// interrupted puts the command's streams into the files stdout and stderr.
func interrupted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: interrupted REGEXP CODE COMMAND [ARG...]")
	}
	ready := regexp.MustCompile(args[0])
	program := filepath.Join(strings.Split(ts.Getenv("PATH"), string(filepath.ListSeparator))[0], args[2])
	cmd := exec.Command(program, args[3:]...)
	cmd.Dir = ts.MkAbs(".")
	stdout, err := os.Create(ts.MkAbs("stdout"))
	ts.Check(err)
	defer stdout.Close()
	stderr, err := os.Create(ts.MkAbs("stderr"))
	ts.Check(err)
	defer stderr.Close()
	cmd.Stdout = stdout
	pipe, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	signalled := false
	lines := bufio.NewScanner(io.TeeReader(pipe, stderr))
	for lines.Scan() {
		found := ready.FindStringSubmatch(lines.Text())
		if signalled || found == nil {
			continue
		}
		signalled = true
		for _, url := range found[1:] {
			answer, err := http.Get(url)
			ts.Check(err)
			ts.Check(answer.Body.Close())
		}
		ts.Check(cmd.Process.Signal(os.Interrupt))
	}
	ended := cmd.Wait()
	if !signalled {
		ts.Fatalf("no line on stderr matched %q:\n%s", args[0], ts.ReadFile("stderr"))
	}
	checkExit(ts, args[1], ended)
	for _, left := range processesOf(ts, cmd.Dir) {
		ts.Fatalf("a process stayed behind: %s", left)
	}
}

// processesOf lists the processes that were started with a path in dir among
// their arguments. Where there is no /proc it finds none.
func processesOf(ts *testscript.TestScript, dir string) []string {
	var found []string
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	ts.Check(err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended meanwhile
		}
		if line := strings.ReplaceAll(string(data), "\x00", " "); strings.Contains(line, dir) {
			found = append(found, line)
		}
	}
	return found
}
