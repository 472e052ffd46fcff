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
//	interrupted-twice REGEXP REGEXP CODE COMMAND [ARG...]  The same, and again once a line matches the second.
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
			"interrupted-twice": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 4 {
					ts.Fatalf("usage: interrupted-twice REGEXP REGEXP CODE COMMAND [ARG...]")
				}
				interrupt(ts, args[:2], args[2], args[3:])
			},
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

func interrupted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: interrupted REGEXP CODE COMMAND [ARG...]")
	}
	interrupt(ts, args[:1], args[1], args[2:])
}

// interrupt runs a command, whose streams it puts into the files stdout and
// stderr, and interrupts it at a line for each of the regexps, in their order.
func interrupt(ts *testscript.TestScript, at []string, code string, command []string) {
	program := filepath.Join(strings.Split(ts.Getenv("PATH"), string(filepath.ListSeparator))[0], command[0])
	cmd := exec.Command(program, command[1:]...)
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
	lines := bufio.NewScanner(io.TeeReader(pipe, stderr))
	for lines.Scan() {
		if len(at) == 0 {
			continue
		}
		found := regexp.MustCompile(at[0]).FindStringSubmatch(lines.Text())
		if found == nil {
			continue
		}
		at = at[1:]
		for _, url := range found[1:] {
			answer, err := http.Get(url)
			ts.Check(err)
			ts.Check(answer.Body.Close())
		}
		ts.Check(cmd.Process.Signal(os.Interrupt))
	}
	ended := cmd.Wait()
	if len(at) > 0 {
		ts.Fatalf("no line on stderr matched %q:\n%s", at[0], ts.ReadFile("stderr"))
	}
	checkExit(ts, code, ended)
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
