package compare

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// query selects rows by their words and may ask something of a figure:
//
//	query     = { word "=" pattern } [ condition ]
//	word      = "policy" | "scenario" | "variant" | "run" | "lab"
//	pattern   = text without blanks, or in double quotes; "*" stands for any text
//	condition = metric [ "/" metric ] operator number [ "%" ]
//	operator  = "<" | "<=" | ">" | ">=" | "==" | "!="
//	metric    = a name of a column, or one of its short names, or NAME:STAT of k6's own
type query struct {
	text  string
	words []word
	condition
}

// word is a word of a row, and the pattern that it must match.
type word struct{ name, pattern string }

// condition compares a figure with a limit. The zero condition asks nothing.
type condition struct {
	figure figure
	op     string
	limit  float64
}

// parseQuery reads a query. The error joins all of its faults.
func parseQuery(text string) (query, error) {
	q := query{text: strings.TrimSpace(text)}
	rest := q.text
	for {
		w, after, ok, err := cutWord(rest)
		if err != nil {
			return q, err
		}
		if !ok {
			break
		}
		q.words, rest = append(q.words, w), after
	}
	if rest == "" {
		return q, nil
	}
	var err error
	q.condition, err = parseCondition(rest)
	return q, err
}

// cutWord cuts word=pattern off the front of the text, if it begins so.
func cutWord(text string) (w word, rest string, ok bool, err error) {
	name, after, found := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	if !found || !slices.Contains([]string{"policy", "scenario", "variant", "run", "lab"}, name) {
		return word{}, text, false, nil
	}
	after = strings.TrimLeft(after, " \t\n")
	if strings.HasPrefix(after, `"`) {
		quoted, err := strconv.QuotedPrefix(after)
		if err != nil {
			return word{}, "", false, fmt.Errorf("%s=%s: the quote does not end", name, after)
		}
		pattern, err := strconv.Unquote(quoted)
		return word{name, pattern}, strings.TrimSpace(after[len(quoted):]), err == nil, err
	}
	end := strings.IndexAny(after, " \t\n")
	if end < 0 {
		end = len(after)
	}
	pattern := after[:end]
	if pattern == "" || strings.ContainsAny(pattern, `=<>!"`) {
		return word{}, "", false, fmt.Errorf("%s=%s: wanted a name after %s=, with blanks and signs in double quotes", name, pattern, name)
	}
	return word{name, pattern}, strings.TrimSpace(after[end:]), true, nil
}

func parseCondition(text string) (condition, error) {
	at, op := operator(text)
	if op == "" {
		return condition{}, fmt.Errorf("%q compares nothing: wanted <, <=, >, >=, == or != and a number", text)
	}
	figure, errFigure := parseFigure(text[:at])
	limit, errLimit := parseLimit(text[at+len(op):])
	return condition{figure: figure, op: op, limit: limit}, errors.Join(errFigure, errLimit)
}

// operator finds the first comparison outside of braces, which hold the tags of
// k6's sub-metrics.
func operator(text string) (at int, op string) {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '{':
			depth++
		case '}':
			depth--
		case '<', '>', '=', '!':
			if depth > 0 {
				continue
			}
			for _, op := range []string{"<=", ">=", "==", "!=", "<", ">"} {
				if strings.HasPrefix(text[i:], op) {
					return i, op
				}
			}
			return 0, ""
		}
	}
	return 0, ""
}

func parseLimit(text string) (float64, error) {
	text = strings.TrimSpace(text)
	number, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, fmt.Errorf("%q is no number, such as 1.5 or 95%%", text)
	}
	if percent {
		v /= 100
	}
	return v, nil
}

// asks says whether there is a condition.
func (c condition) asks() bool { return c.op != "" }

// holds says whether the value meets the condition.
func (c condition) holds(v float64) bool {
	switch c.op {
	case "<":
		return v < c.limit
	case "<=":
		return v <= c.limit
	case ">":
		return v > c.limit
	case ">=":
		return v >= c.limit
	case "==":
		return v == c.limit
	case "!=":
		return v != c.limit
	}
	return true
}

// selects says whether all words of the query match the row.
func (q query) selects(row Row) bool {
	for _, w := range q.words {
		if !slices.ContainsFunc(row.words(w.name), func(text string) bool { return like(w.pattern, text) }) {
			return false
		}
	}
	return true
}

// among says what there is in the rows to select: the values of the query's words
// and of its figure.
func (q query) among(rows []Row) string {
	var parts []string
	for _, w := range q.words {
		var values []string
		for _, row := range rows {
			if value := row.words(w.name)[0]; value != "" && !slices.Contains(values, value) {
				values = append(values, value)
			}
		}
		if len(values) == 0 {
			values = []string{"not known"}
		}
		parts = append(parts, w.name+" is "+strings.Join(values, ", "))
	}
	if q.asks() {
		var values []float64
		for _, row := range rows {
			if s := row.stat(q.figure.number); s.Known() {
				values = append(values, s.Value)
			}
		}
		if len(values) == 0 {
			parts = append(parts, q.figure.name+" is not known")
		} else {
			parts = append(parts, fmt.Sprintf("%s is %s to %s", q.figure.name, decimal(slices.Min(values)), decimal(slices.Max(values))))
		}
	}
	return strings.Join(parts, "; ")
}

// words are the texts that a pattern may match.
func (r Row) words(name string) []string {
	switch name {
	case "policy":
		return []string{r.Policy, r.PolicyLabel()}
	case "scenario":
		return []string{r.Scenario}
	case "variant":
		return []string{r.Runs[0].Variant}
	case "lab":
		return []string{r.Lab}
	}
	return []string{r.Name, r.number(), strconv.Itoa(r.Number)}
}

// like matches a text with a pattern in which * stands for any text.
func like(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(text, parts[0])
	if len(parts) == 1 {
		return ok && rest == ""
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		if !ok {
			return false
		}
		_, rest, ok = strings.Cut(rest, part)
	}
	return ok && strings.HasSuffix(rest, parts[last])
}
