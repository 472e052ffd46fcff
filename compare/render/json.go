package render

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/retrylab/retrylab/compare"
)

// Schema is the schema of the JSON that JSON writes.
const Schema = "retrylab/comparison/1"

// JSON writes the report as one object: schema, labs, setting, columns (name,
// title, unit and meaning), rows, notes and warnings. A row has a key for each
// column, null for a missing value, and "ranges" with n, low and high of the
// figures of repeated runs, and the 95 % "interval" of the median from 6 on. With
// gates it has "gates" too. It ends with a newline.
func JSON(w io.Writer, report compare.Report) error {
	columns := report.Columns()
	out := object{
		{"schema", Schema},
		{"labs", filled(report.Labs)},
		{"setting", report.Setting},
	}
	if report.Baseline != "" {
		out = append(out, field{"baseline", report.Baseline})
	}
	rows := make([]object, len(report.Rows))
	for i, row := range report.Rows {
		rows[i] = jsonRow(columns, row)
	}
	out = append(out, field{"columns", jsonColumns(columns)}, field{"rows", rows})
	if len(report.Checks) > 0 {
		out = append(out, field{"gates", jsonGates(report.Checks)})
	}
	return writeJSON(w, append(out, field{"notes", jsonNotes(report.Notes)}, field{"warnings", filled(report.Warnings)}))
}

func writeJSON(w io.Writer, out object) error {
	data, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

func jsonColumns(columns []compare.Column) []object {
	out := make([]object, len(columns))
	for i, c := range columns {
		out[i] = object{{"name", c.Name}, {"title", c.Title}, {"unit", c.Unit}, {"doc", c.Doc}}
	}
	return out
}

func jsonNotes(notes []compare.Note) []compare.Note {
	notes = filled(notes)
	for i := range notes {
		notes[i].Runs = filled(notes[i].Runs)
	}
	return notes
}

func jsonGates(checks []compare.Check) []object {
	out := make([]object, len(checks))
	for i, c := range checks {
		out[i] = object{
			{"gate", c.Gate}, {"row", c.Row}, {"outcome", c.Outcome}, {"metric", c.Metric}, {"operator", c.Op},
			{"limit", json.Number(exact(c.Limit))}, {"value", number(c.Stat)}, {"repetitions", c.Stat.N}, {"row_repetitions", c.Repetitions},
		}
	}
	return out
}

// number is the figure's median, or nil if it is missing.
func number(s compare.Stat) any {
	if !s.Known() {
		return nil
	}
	return json.Number(exact(s.Value))
}

func jsonRow(columns []compare.Column, row compare.Row) object {
	out := object{{"lab", row.Lab}, {"policy", row.Policy}, {"scenario", row.Scenario}}
	ranges := object{}
	for _, c := range columns {
		stat := row.Stat(c)
		switch {
		case c.Kind == compare.Text && row.Text(c) != "":
			out = append(out, field{c.Name, row.Text(c)})
		case c.Kind == compare.Text || !stat.Known() || row.NoDifference(c):
			out = append(out, field{c.Name, nil})
		default:
			out = append(out, field{c.Name, json.Number(exact(stat.Value))})
		}
		if stat.Known() && stat.N > 1 {
			ranges = append(ranges, field{c.Name, jsonRange(stat)})
		}
	}
	return append(out, field{"ranges", ranges})
}

// jsonRange is how a figure ranges; it has an interval if the repetitions are
// enough for one.
func jsonRange(s compare.Stat) object {
	out := object{{"n", s.N}, {"low", json.Number(exact(s.Low))}, {"high", json.Number(exact(s.High))}}
	if s.Beyond > 0 {
		out = append(out, field{"beyond", s.Beyond})
	}
	if low, high, ok := s.Interval(); ok {
		out = append(out, field{"interval", []json.Number{json.Number(exact(low)), json.Number(exact(high))}})
	}
	return out
}

// filled is a copy of the slice that encodes as [] when empty.
func filled[T any](s []T) []T { return append([]T{}, s...) }

// object encodes its fields in their order.
type object []field

type field struct {
	name  string
	value any
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(f.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(f.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
