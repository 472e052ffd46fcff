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
// figures of repeated runs. It ends with a newline.
func JSON(w io.Writer, report compare.Report) error {
	columns := compare.Columns()
	type column struct {
		Name  string `json:"name"`
		Title string `json:"title"`
		Unit  string `json:"unit"`
		Doc   string `json:"doc"`
	}
	out := object{
		{"schema", Schema},
		{"labs", filled(report.Labs)},
		{"setting", report.Setting},
	}
	described := make([]column, len(columns))
	for i, c := range columns {
		described[i] = column{c.Name, c.Title, c.Unit, c.Doc}
	}
	rows := make([]object, len(report.Rows))
	for i, row := range report.Rows {
		rows[i] = jsonRow(columns, row)
	}
	notes := filled(report.Notes)
	for i := range notes {
		notes[i].Runs = filled(notes[i].Runs)
	}
	out = append(out, field{"columns", described}, field{"rows", rows}, field{"notes", notes}, field{"warnings", filled(report.Warnings)})
	data, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

func jsonRow(columns []compare.Column, row compare.Row) object {
	out := object{{"lab", row.Lab}, {"policy", row.Policy}, {"scenario", row.Scenario}}
	ranges := object{}
	for _, c := range columns {
		stat := row.Stat(c)
		switch {
		case c.Kind == compare.Text && row.Text(c) != "":
			out = append(out, field{c.Name, row.Text(c)})
		case c.Kind == compare.Text || !stat.Known():
			out = append(out, field{c.Name, nil})
		default:
			out = append(out, field{c.Name, json.Number(exact(stat.Value))})
		}
		if stat.N > 1 {
			ranges = append(ranges, field{c.Name, object{
				{"n", stat.N}, {"low", json.Number(exact(stat.Low))}, {"high", json.Number(exact(stat.High))},
			}})
		}
	}
	return append(out, field{"ranges", ranges})
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
