package render

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"

	"github.com/retrylab/retrylab/compare"
)

// DiffSchema is the schema of the JSON that DiffJSON writes.
const DiffSchema = "retrylab/diff/1"

// DiffMarkdown writes what is worse and better as lists, and all comparisons as
// GitHub tables that unfold, fit for the comment of a pull request.
func DiffMarkdown(w io.Writer, diff compare.Diff) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "## Retry Lab diff: %s\n\n%s\n\n", diffTitle(diff), escape(sides(diff)))
	if diff.Setting != "" {
		fmt.Fprintf(&b, "%s\n\n", escape(diff.Setting))
	}
	for _, v := range []compare.Verdict{compare.Worse, compare.Better} {
		if diff.Count(v) == 0 {
			continue
		}
		fmt.Fprintf(&b, "**%s**\n\n", map[compare.Verdict]string{compare.Worse: "Worse", compare.Better: "Better"}[v])
		for _, row := range diff.Rows {
			for _, j := range row.Figures {
				if j.Verdict == v {
					fmt.Fprintf(&b, "- %s, %s: %s → %s, %s (%s)\n", escape(row.Name), escape(j.Column.Title),
						escape(side(j.Column, j.Base)), escape(side(j.Column, j.Head)), escape(delta(j)), test(j))
				}
			}
		}
		b.WriteString("\n")
	}
	if len(diff.Rows) > 0 {
		b.WriteString("<details><summary>All comparisons</summary>\n\n")
		for i, c := range diff.Columns {
			title, about := diffHeading(diff, c)
			fmt.Fprintf(&b, "### %s\n\n%s\n\n", escape(title), escape(about))
			b.WriteString("| run | base | head | change | verdict | test |\n|:---|---:|---:|---:|:---|:---|\n")
			for _, row := range diff.Rows {
				j := row.Figures[i]
				fmt.Fprintf(&b, "| %s | %s %s | %s %s | %s | %s | %s |\n", escape(row.Name), escape(side(c, j.Base)), spread(j.Base),
					escape(side(c, j.Head)), spread(j.Head), escape(delta(j)), escape(verdict(j)), test(j))
			}
			b.WriteString("\n")
		}
		b.WriteString("</details>\n\n")
	}
	markdownNotes(&b, diff.Notes, diff.Warnings)
	_, err := w.Write(b.Bytes())
	return err
}

// DiffCSV writes one line a row and figure. Missing figures are empty.
func DiffCSV(w io.Writer, diff compare.Diff) error {
	out := csv.NewWriter(w)
	records := [][]string{{"policy_scenario", "metric", "base", "head", "base_repetitions", "head_repetitions",
		"change", "relative_change", "p", "verdict", "floor"}}
	for _, row := range diff.Rows {
		for _, j := range row.Figures {
			record := []string{defuse(row.Name), j.Column.Name, "", "", fmt.Sprint(j.Base.N), fmt.Sprint(j.Head.N), "", "", "", string(j.Verdict), j.Floor.String()}
			if j.Base.Known() {
				record[2] = exact(j.Base.Value)
			}
			if j.Head.Known() {
				record[3] = exact(j.Head.Value)
			}
			if j.Verdict != compare.Missing {
				record[8] = exact(j.P)
			}
			if j.Known() {
				record[6] = exact(j.Delta())
			}
			if share, ok := j.Relative(); ok {
				record[7] = exact(share)
			}
			records = append(records, record)
		}
	}
	return out.WriteAll(records)
}

// DiffJSON writes the diff as one object: schema, outcome, base, head, setting,
// alpha, rows with one change a figure, notes and warnings. It ends with a newline.
func DiffJSON(w io.Writer, diff compare.Diff) error {
	rows := make([]object, len(diff.Rows))
	for i, row := range diff.Rows {
		figures := make([]object, len(row.Figures))
		for k, j := range row.Figures {
			figures[k] = jsonJudgement(j)
		}
		rows[i] = object{
			{"policy_scenario", row.Name}, {"policy", row.Policy}, {"scenario", row.Scenario},
			{"base_repetitions", row.Base}, {"head_repetitions", row.Head}, {"figures", figures},
		}
	}
	return writeJSON(w, object{
		{"schema", DiffSchema}, {"outcome", diff.Outcome()}, {"base", filled(diff.Base)}, {"head", filled(diff.Head)},
		{"setting", diff.Setting}, {"alpha", json.Number(exact(diff.Alpha))}, {"columns", jsonColumns(diff.Columns)},
		{"rows", rows}, {"notes", jsonNotes(diff.Notes)}, {"warnings", filled(diff.Warnings)},
	})
}

func jsonJudgement(j compare.Judgement) object {
	out := object{{"metric", j.Column.Name}, {"verdict", j.Verdict}, {"base", number(j.Base)}, {"head", number(j.Head)}}
	if j.Verdict == compare.Missing {
		return out
	}
	out = append(out, field{"change", json.Number(exact(j.Delta()))})
	if share, ok := j.Relative(); ok {
		out = append(out, field{"relative_change", json.Number(exact(share))})
	}
	return append(out, field{"p", json.Number(exact(j.P))}, field{"floor", j.Floor.String()},
		field{"base_range", jsonRange(j.Base)}, field{"head_range", jsonRange(j.Head)})
}
