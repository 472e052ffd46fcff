// Package output writes the samples of a run to files as they come: k6's
// outputs `json` (NDJSON) and `csv`.
package output

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/retrylab/retrylab/runner/metrics"
	"github.com/retrylab/retrylab/runner/thresholds"
)

// Params are what outputs are made of.
type Params struct {
	// Args say which outputs there are, as k6's --out does: `json=FILE`,
	// `csv=FILE`. Without a file, or with the file `-`, json goes to Stdout; csv
	// goes to Stdout for `-`, and without a file to K6_CSV_FILENAME or file.csv. A
	// file whose name ends in .gz is compressed. A file that exists is replaced.
	Args []string
	// Env holds the settings of csv: K6_CSV_FILENAME, K6_CSV_SAVE_INTERVAL (1s)
	// and K6_CSV_TIME_FORMAT (unix). Args win over them.
	Env map[string]string
	// Stdout is for the outputs without a file.
	Stdout io.Writer
	// Thresholds are told by json, by metric key.
	Thresholds map[string][]thresholds.Spec
	// SystemTags are the tags with a column of their own in csv; nil means
	// [metrics.DefaultSystemTags].
	SystemTags []string
	// Log gets a warning about samples that an output cannot hold.
	Log logrus.FieldLogger
}

// Outputs are the open outputs of a run. Their methods are for one goroutine
// at a time.
type Outputs struct{ list []*file }

var _ metrics.Output = (*Outputs)(nil)

// format is how samples are written.
type format interface {
	// begin writes what comes before all samples.
	begin(w *bufio.Writer)
	// write writes one sample. Errors stay in w.
	write(w *bufio.Writer, s *metrics.Sample)
	// end is called after the last sample.
	end()
}

// Open checks the arguments and opens all outputs, or none. Its error names
// every fault.
func Open(p Params) (*Outputs, error) {
	o := &Outputs{}
	var faults []error
	for _, arg := range p.Args {
		f, err := p.open(arg)
		if err != nil {
			faults = append(faults, fmt.Errorf("output %q: %w", arg, err))
			continue
		}
		o.list = append(o.list, f)
	}
	if len(faults) > 0 {
		return nil, errors.Join(append(faults, o.Close())...)
	}
	return o, nil
}

func (p Params) open(arg string) (*file, error) {
	kind, rest, _ := strings.Cut(arg, "=")
	switch kind {
	case "json":
		return openFile(p.Stdout, rest, jsonFlush, &ndjson{thresholds: p.Thresholds, file: rest, log: p.Log})
	case "csv":
		c, err := parseCSV(p.Env, rest)
		if err != nil {
			return nil, err
		}
		columns := p.SystemTags
		if columns == nil {
			columns = metrics.DefaultSystemTags()
		}
		return openFile(p.Stdout, c.file, c.flush, newCSV(columns, c.stamp))
	}
	return nil, fmt.Errorf("%q is not in the built-in runner, which has json and csv; use a k6 build (see README)", kind)
}

// Add writes samples. Errors are kept for Close.
func (o *Outputs) Add(samples []metrics.Sample) {
	for _, f := range o.list {
		f.add(samples)
	}
}

// Close writes what is left and closes the files. Its error has, for each
// output that could not be written in full, the first reason. Closing twice
// does nothing.
func (o *Outputs) Close() error {
	var faults []error
	for _, f := range o.list {
		if err := f.close(); err != nil {
			faults = append(faults, fmt.Errorf("write the output %q: %w", f.name, err))
		}
	}
	o.list = nil
	return errors.Join(faults...)
}

const (
	jsonFlush  = 200 * time.Millisecond
	bufferSize = 64 << 10
)

// file is one output. Once a write fails its buffer takes nothing more and
// keeps the error.
type file struct {
	name   string
	format format
	buf    *bufio.Writer
	closes []io.Closer // in this order

	interval time.Duration
	flushed  time.Time
}

// openFile opens an output; what is written to it is at most about interval
// old as long as samples come, unless it is compressed.
func openFile(stdout io.Writer, name string, interval time.Duration, to format) (*file, error) {
	f := &file{name: name, format: to, interval: interval, flushed: time.Now()}
	w := stdout
	if name == "" || name == "-" {
		f.name = "stdout"
	} else {
		on, err := os.Create(name)
		if err != nil {
			return nil, err
		}
		w, f.closes = on, []io.Closer{on}
	}
	if strings.HasSuffix(name, ".gz") {
		// At the least effort: the run's processors have other work.
		z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			return nil, err
		}
		w, f.closes = z, append([]io.Closer{z}, f.closes...)
	}
	f.buf = bufio.NewWriterSize(w, bufferSize)
	to.begin(f.buf)
	return f, nil
}

func (f *file) add(samples []metrics.Sample) {
	for i := range samples {
		f.format.write(f.buf, &samples[i])
	}
	if now := time.Now(); now.Sub(f.flushed) >= f.interval {
		f.flushed = now
		_ = f.buf.Flush() // the buffer keeps the error
	}
}

func (f *file) close() error {
	f.format.end()
	err := f.buf.Flush()
	for _, c := range f.closes {
		if cerr := c.Close(); err == nil {
			err = cerr
		}
	}
	return err
}

// cached keeps what has been made of tag sets, the most recent ones: there may
// be as many as there are different URLs.
type cached[T any] map[*metrics.TagSet]T

func (c cached[T]) get(tags *metrics.TagSet, of func(*metrics.TagSet) T) T {
	v, ok := c[tags]
	if !ok {
		const most = 4096
		if len(c) == most {
			clear(c)
		}
		v = of(tags)
		c[tags] = v
	}
	return v
}

// isSystemTag says whether k6 has a system tag of that name among the tags.
func isSystemTag(name string) bool {
	return name == "ip" || name == "ocsp_status" || slices.Contains(metrics.DefaultSystemTags(), name)
}

func known[V any](m map[string]V) string { return strings.Join(slices.Sorted(maps.Keys(m)), ", ") }
