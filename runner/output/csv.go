package output

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrylab/retrylab/runner/metrics"
)

// csvConfig are the settings of the csv output.
type csvConfig struct {
	file  string
	flush time.Duration
	stamp func(time.Time) string
}

// parseCSV reads the settings: those in arg win over those of the
// environment. arg is a file's name or fileName=…,saveInterval=…,timeFormat=….
func parseCSV(env map[string]string, arg string) (csvConfig, error) {
	c := csvConfig{file: "file.csv", flush: time.Second, stamp: timeFormats()["unix"]}
	setters := map[string]func(string) error{
		"fileName":     func(v string) error { c.file = v; return nil },
		"saveInterval": func(v string) (err error) { c.flush, err = interval(v); return },
		"timeFormat": func(v string) error {
			stamp, ok := timeFormats()[strings.ToLower(v)]
			if !ok {
				return fmt.Errorf("%q is none of %s", v, known(timeFormats()))
			}
			c.stamp = stamp
			return nil
		},
	}
	for name, key := range map[string]string{
		"K6_CSV_FILENAME": "fileName", "K6_CSV_SAVE_INTERVAL": "saveInterval", "K6_CSV_TIME_FORMAT": "timeFormat",
	} {
		if v := env[name]; v != "" {
			if err := setters[key](v); err != nil {
				return c, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	if !strings.Contains(arg, "=") {
		if arg != "" {
			c.file = arg
		}
		return c, nil
	}
	for pair := range strings.SplitSeq(arg, ",") {
		key, v, _ := strings.Cut(pair, "=")
		set, ok := setters[key]
		if !ok || v == "" {
			return c, fmt.Errorf("%q is no setting of the csv output: want %s, each with =VALUE", pair, known(setters))
		}
		if err := set(v); err != nil {
			return c, fmt.Errorf("%s: %w", key, err)
		}
	}
	return c, nil
}

// interval is a duration, or a number of milliseconds.
func interval(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if ms, nerr := strconv.ParseFloat(text, 64); nerr == nil {
		d, err = time.Duration(ms*float64(time.Millisecond)), nil
	}
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is no duration above 0, as in 500ms", text)
	}
	return d, nil
}

// timeFormats are how a row's time can be written, in UTC.
func timeFormats() map[string]func(time.Time) string {
	number := func(of func(time.Time) int64) func(time.Time) string {
		return func(t time.Time) string { return strconv.FormatInt(of(t), 10) }
	}
	layout := func(l string) func(time.Time) string {
		return func(t time.Time) string { return t.UTC().Format(l) }
	}
	return map[string]func(time.Time) string{
		"unix": number(time.Time.Unix), "unix_milli": number(time.Time.UnixMilli),
		"unix_micro": number(time.Time.UnixMicro), "unix_nano": number(time.Time.UnixNano),
		"rfc3339": layout(time.RFC3339), "rfc3339_nano": layout(time.RFC3339Nano),
	}
}

// rows writes a row for each sample: metric, time, value, a column for each
// system tag, the other tags in one, and the metadata in one.
type rows struct {
	columns []string
	stamp   func(time.Time) string

	csv  *csv.Writer
	tags cached[[]string]
	row  []string
}

func newCSV(columns []string, stamp func(time.Time) string) *rows {
	columns = slices.DeleteFunc(slices.Clone(columns), metrics.IsSystemMetadata)
	slices.Sort(columns)
	return &rows{columns: columns, stamp: stamp, tags: make(cached[[]string])}
}

func (r *rows) begin(w *bufio.Writer) {
	r.csv = csv.NewWriter(w) // which takes w as its own buffer
	r.put(slices.Concat([]string{"metric_name", "timestamp", "metric_value"}, r.columns, []string{"extra_tags", "metadata"}))
}

func (r *rows) write(_ *bufio.Writer, s *metrics.Sample) {
	r.row = append(r.row[:0], s.Metric.Name, r.stamp(time.Unix(0, s.Time)), strconv.FormatFloat(s.Value, 'f', 6, 64))
	r.row = append(r.row, r.tags.get(s.Tags, r.cells)...)
	r.put(r.row)
}

// put writes a row. An error stays in the buffer beneath.
func (r *rows) put(row []string) { _ = r.csv.Write(row) }

func (r *rows) end() {}

// cells are the columns that depend on the tags.
func (r *rows) cells(tags *metrics.TagSet) []string {
	out := make([]string, len(r.columns), len(r.columns)+2)
	var extra, metadata []string
	for _, t := range tags.Tags() {
		i, ok := slices.BinarySearch(r.columns, t.Key)
		switch {
		case ok:
			out[i] = t.Value
		case metrics.IsSystemMetadata(t.Key):
			metadata = append(metadata, t.Key+"="+t.Value)
		case !isSystemTag(t.Key):
			extra = append(extra, t.Key+"="+t.Value)
		}
	}
	return append(out, strings.Join(extra, "&"), strings.Join(metadata, "&"))
}
