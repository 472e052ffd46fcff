package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/renameio/v2/maybe"
	"github.com/grafana/sobek"

	"github.com/retrylab/retrylab/runner/modules"
	"github.com/retrylab/retrylab/runner/summary"
	"github.com/retrylab/retrylab/runner/vu"
)

// summarize prints the summary, or what the script's handleSummary makes of
// it, and writes the export.
func (r *run) summarize(d *summary.Data) error {
	var faults []error
	if r.cfg.SummaryExport != "" {
		b, err := d.Export()
		if err == nil {
			err = writeFile(r.cfg.SummaryExport, append(b, '\n'))
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("write the summary export %q: %w", r.cfg.SummaryExport, err))
		}
	}
	if r.cfg.NoSummary {
		return errors.Join(faults...)
	}
	if r.first.Has("handleSummary") {
		out, err := r.handleSummary(d)
		if err == nil {
			return errors.Join(append(faults, r.writeOut(out))...)
		}
		r.log.Errorf("handleSummary() failed, so the usual summary follows: %s", vu.Describe(err))
	}
	if err := d.Text(r.cfg.Stdout, summary.TextOptions{Color: r.cfg.StdoutTTY && !r.cfg.NoColor}); err != nil {
		faults = append(faults, fmt.Errorf("write the summary: %w", err))
	}
	return errors.Join(faults...)
}

// output is one entry of what handleSummary returned.
type output struct {
	to   string
	data []byte
}

func (r *run) handleSummary(d *summary.Data) ([]output, error) {
	in, err := d.HandleSummary()
	if err != nil {
		return nil, err
	}
	limit := or(r.options.HandleSummaryTimeout, summaryTimeout)
	ctx, cancel := context.WithTimeout(r.hard, limit)
	defer cancel()
	var out []output
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

func outputs(rt *sobek.Runtime, v sobek.Value) ([]output, error) {
	if modules.IsNullish(v) {
		return nil, nil
	}
	o, ok := v.(*sobek.Object)
	if !ok || o.ClassName() == "Array" {
		return nil, fmt.Errorf("it returned %q, want an object of texts by file name, stdout or stderr", v.String())
	}
	var out []output
	for _, key := range o.Keys() {
		val := o.Get(key)
		switch data := val.Export().(type) {
		case string:
			out = append(out, output{key, []byte(data)})
		case sobek.ArrayBuffer:
			out = append(out, output{key, slices.Clone(data.Bytes())})
		case []byte:
			out = append(out, output{key, slices.Clone(data)})
		default:
			return nil, fmt.Errorf("its %q is %q, want text or an ArrayBuffer", key, val.String())
		}
	}
	return out, nil
}

func (r *run) writeOut(list []output) error {
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
