// Package cli is the command retrylab: one file a verb. It parses flags,
// draws progress, and maps errors to exit codes; what a verb does is in the
// package behind it.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/retrylab/retrylab/runner"
	"github.com/sirupsen/logrus"
	"golang.org/x/term"
)

// Streams are the standard streams: Out carries data, Err everything else.
type Streams struct {
	Out, Err io.Writer
}

// grammar is the command line.
type grammar struct {
	Run        runCmd        `cmd:"" help:"Run a k6 script with the built-in runner."`
	Lab        labCmd        `cmd:"" help:"Run a plan: many policies and scenarios, each run in a fresh process, and report."`
	Downstream downstreamCmd `cmd:"" help:"Serve HTTP that fails in a controlled way."`
	Serve      serveCmd      `cmd:"" help:"Serve a caller: HTTP that answers by calling a failing downstream through a policy."`
	Compare    compareCmd    `cmd:"" help:"Report what runs cost and bought, from their files."`
	Diff       diffCmd       `cmd:"" help:"Say what got better or worse from one lab to another."`
	Policy     policyCmd     `cmd:"" help:"List the named policies, or show one."`
	Version    versionCmd    `cmd:"" help:"Print the version."`

	Verbose bool `short:"v" help:"Log debug messages too."`
	// VersionFlag is what users of other tools try first.
	VersionFlag kong.VersionFlag `name:"version" help:"Print the version."`
}

// session is what a verb gets beside its flags.
type session struct {
	Streams
	ctx  context.Context // ends at the first interrupt
	hard context.Context // ends at the second
	log  *logrus.Logger
	prog string // path of this program
}

// Main runs a command line and returns its exit code.
func Main(args []string, streams Streams) int {
	s := &session{Streams: streams, log: newLogger(streams.Err)}
	var g grammar
	parser, err := newParser(&g, streams)
	if err != nil {
		return s.fail(err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	command, err := parser.Parse(args)
	if err != nil {
		var parse *kong.ParseError
		hint := "retrylab --help"
		if errors.As(err, &parse) && parse.Context != nil && parse.Context.Selected() != nil {
			hint = "retrylab " + strings.TrimSpace(strings.Join(selected(parse.Context), " ")) + " --help"
		}
		fmt.Fprintf(streams.Err, "retrylab: %v (see %s)\n", err, hint)
		return exitUsage
	}
	if g.Verbose {
		s.log.SetLevel(logrus.DebugLevel)
	}
	if s.prog, err = os.Executable(); err != nil {
		return s.fail(err)
	}
	var stop func()
	s.ctx, s.hard, stop = interrupts()
	defer stop()
	return s.fail(command.Run(s))
}

// newParser makes the parser of g. Asking for help ends the process.
func newParser(g *grammar, streams Streams) (*kong.Kong, error) {
	return kong.New(g,
		kong.Name("retrylab"),
		kong.Description("Measures what a retry really costs: calls sent downstream for each request, work thrown away, and what was gained.\n\n"+
			"Exit codes: 0 ok, 1 internal failure, 2 usage, 3 not enough data to judge, 99 a threshold or gate failed, 100 and 101 setup or teardown timed out, "+
			"104 invalid configuration or input, 105 interrupted, 107 the script threw."),
		kong.Vars{"version": versionLine()},
		kong.Writers(streams.Out, streams.Err),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(decodeDuration)),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
	)
}

// decodeDuration reads a duration flag as k6 does: with days, and a bare number
// as milliseconds.
func decodeDuration(c *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := c.Scan.PopValueInto("duration", &text); err != nil {
		return err
	}
	d, err := runner.ParseDuration(text)
	if err != nil {
		return err
	}
	target.Set(reflect.ValueOf(d))
	return nil
}

// selected is the verb that was being parsed.
func selected(c *kong.Context) []string {
	var words []string
	for _, p := range c.Path {
		if p.Command != nil {
			words = append(words, p.Command.Name)
		}
	}
	return words
}

// interrupts returns a context that the first SIGINT or SIGTERM ends and one
// that the second ends.
func interrupts() (soft, hard context.Context, stop func()) {
	soft, cancelSoft := context.WithCancel(context.Background())
	hard, cancelHard := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		for _, cancel := range []func(){cancelSoft, cancelHard} {
			select {
			case <-signals:
				cancel()
			case <-done:
				return
			}
		}
	}()
	return soft, hard, func() {
		signal.Stop(signals)
		close(done)
		cancelSoft()
		cancelHard()
	}
}

func newLogger(w io.Writer) *logrus.Logger {
	l := logrus.New()
	l.SetOutput(w)
	l.SetFormatter(&logrus.TextFormatter{
		FullTimestamp: true, TimestampFormat: "15:04:05.000",
		// The log goes on having colours where a progress bar stands between it and the terminal.
		ForceColors: isTerminal(w) && !noColor(), DisableColors: noColor(),
	})
	return l
}

// isTerminal says whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// noColor says whether the user wants no colours anywhere (no-color.org).
func noColor() bool { return os.Getenv("NO_COLOR") != "" }
