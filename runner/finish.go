package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2/maybe"
	"github.com/grafana/sobek"

	"github.com/retrylab/retrylab/runner/modules"
	"github.com/retrylab/retrylab/runner/output"
	"github.com/retrylab/retrylab/runner/summary"
	"github.com/retrylab/retrylab/runner/vu"
)

// attach opens the outputs, and adds up what the mode of the summary needs
// beside the metrics. The run closes the outputs.
func (r *run) attach() error {
	mode, err := summary.ParseMode(string(r.cfg.SummaryMode))
	if err != nil {
		return err
	}
	if r.cfg.NoSummary {
		mode = summary.Disabled
	}
	r.mode = mode
	r.outputs, err = output.Open(output.Params{
		Args: r.cfg.Out, Env: (&Config{Environ: r.cfg.Environ}).env(), Stdout: r.cfg.Stdout,
		Thresholds: r.options.Thresholds, SystemTags: r.options.SystemTags, Log: r.log,
	})
	if err != nil {
		return err
	}
	if len(r.cfg.Out) > 0 {
		r.shared.Engine.Attach(r.outputs)
	}
	if mode == summary.Full {
		r.parts = &summary.Collector{}
		r.shared.Engine.Attach(r.parts)
	}
	return nil
}

// collect reads the aggregates. It is called inside of the engine's View.
func (r *run) collect(begun time.Time, duration time.Duration) *summary.Data {
	stats := r.options.SummaryTrendStats
	d := summary.Collect(r.shared.Registry, r.shared.Engine, r.set, stats, duration)
	d.Mode, d.Script, d.Ended = r.mode, r.text, begun.Add(duration)
	d.TimeUnit, d.NoColor = or(r.options.SummaryTimeUnit, ""), r.cfg.NoColor
	d.StdoutTTY, d.StderrTTY = r.cfg.StdoutTTY, r.cfg.StderrTTY
	d.SetupData = r.data
	if r.parts != nil {
		d.Parts = r.parts.Part(stats, duration)
	}
	if r.cfg.SummarySketches != "" {
		r.sketches = summary.NewSketches(r.shared.Registry, r.shared.Engine, r.set, begun, duration)
		if s := r.shared.Segment; s.Share() < 1 {
			r.sketches.Segment = s.String()
		}
	}
	return d
}

// summarize prints the summary, or what the script's handleSummary makes of
// it, and writes the files that were asked for.
func (r *run) summarize(d *summary.Data) error {
	var faults []error
	save := func(what, name string, encode func() ([]byte, error)) {
		if name == "" {
			return
		}
		b, err := encode()
		if err == nil {
			err = writeFile(name, append(b, '\n'))
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("write the %s %q: %w", what, name, err))
		}
	}
	export, handled := d.Export, d.HandleSummary
	if r.cfg.NewMachineReadableSummary {
		export, handled = d.MachineReadable, d.MachineReadable
	}
	save("summary export", r.cfg.SummaryExport, export)
	save("summary's sketches", r.cfg.SummarySketches, r.sketches.Encode)
	if r.mode == summary.Disabled {
		return errors.Join(faults...)
	}
	if r.first.Has("handleSummary") {
		out, err := r.handleSummary(handled)
		if err != nil {
			r.log.Errorf("handleSummary() failed, so the usual summary follows: %s", vu.Describe(err))
		} else if out != nil {
			return errors.Join(append(faults, r.writeOut(out))...)
		}
	}
	if err := d.Text(r.cfg.Stdout, summary.TextOptions{Color: r.cfg.StdoutTTY && !r.cfg.NoColor}); err != nil {
		faults = append(faults, fmt.Errorf("write the summary: %w", err))
	}
	return errors.Join(faults...)
}

// written is one entry of what handleSummary returned.
type written struct {
	to   string
	data []byte
}

// handleSummary calls the script's function with the summary. What it returns
// is nil if the function returns nothing, which leaves the text to the runner.
func (r *run) handleSummary(d func() ([]byte, error)) ([]written, error) {
	in, err := d()
	if err != nil {
		return nil, err
	}
	limit := or(r.options.HandleSummaryTimeout, summaryTimeout)
	ctx, cancel := context.WithTimeout(r.hard, limit)
	defer cancel()
	var out []written
	err = r.first.CallWith(ctx, "handleSummary", "", func(v sobek.Value) error {
		var err error
		out, err = outputs(r.first.Runtime(), v)
		return err
	}, in)
	if err != nil && ctx.Err() != nil && r.hard.Err() == nil {
		return nil, fmt.Errorf("it took longer than %s; the option handleSummaryTimeout sets the limit", limit)
	}
	return out, err
}

func outputs(rt *sobek.Runtime, v sobek.Value) ([]written, error) {
	if modules.IsNullish(v) {
		return nil, nil
	}
	o, ok := v.(*sobek.Object)
	if !ok || o.ClassName() == "Array" {
		return nil, fmt.Errorf("it returned %q, want an object of texts by file name, stdout or stderr", v.String())
	}
	out := []written{}
	for _, key := range o.Keys() {
		val := o.Get(key)
		switch data := val.Export().(type) {
		case string:
			out = append(out, written{key, []byte(data)})
		case sobek.ArrayBuffer:
			out = append(out, written{key, slices.Clone(data.Bytes())})
		case []byte:
			out = append(out, written{key, slices.Clone(data)})
		default:
			return nil, fmt.Errorf("its %q is %q, want text or an ArrayBuffer", key, val.String())
		}
	}
	return out, nil
}

func (r *run) writeOut(list []written) error {
	var faults []error
	for _, o := range list {
		var err error
		switch o.to {
		case "stdout":
			_, err = r.cfg.Stdout.Write(o.data)
		case "stderr":
			_, err = r.cfg.Stderr.Write(o.data)
		default:
			err = writeFile(o.to, o.data)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("write handleSummary's %q: %w", o.to, err))
		}
	}
	return errors.Join(faults...)
}

// writeFile writes a file as a whole or not at all.
func writeFile(name string, data []byte) error {
	if st, err := os.Stat(name); err == nil && !st.Mode().IsRegular() {
		return write(name, data) // a device or a pipe is not to be replaced
	}
	return maybe.WriteFile(name, data, 0o644)
}

func write(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, werr := f.Write(data)
	return errors.Join(werr, f.Close())
}

func join(names []string) string { return strings.Join(names, ", ") }
