package render

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/retrylab/retrylab/compare"
)

// missing stands for a figure that is not known, in tables for people.
const missing = "-"

// same stands for a difference that is not significant.
const same = string(compare.Alike)

// cell is the row's value in the column for people, without marks.
func cell(c compare.Column, row compare.Row) string {
	if c.Kind == compare.Text {
		if text := row.Text(c); text != "" {
			return printable(text)
		}
		return missing
	}
	stat := row.Stat(c)
	switch {
	case !stat.Known():
		return missing
	case row.NoDifference(c):
		return same
	}
	return figure(c.Kind, stat.Value)
}

// figure is a value of the kind for people.
func figure(kind compare.Kind, v float64) string {
	switch kind {
	case compare.Share:
		return percent(v)
	case compare.Factor:
		return fixed(v, 3)
	case compare.PerSecond, compare.Seconds:
		return fixed(v, 1)
	case compare.Points:
		return signed(fixed(100*v, 1)) + " pt"
	case compare.Extra:
		return signed(fixed(v, 3))
	case compare.Plain:
		return strconv.FormatFloat(v, 'g', 6, 64)
	case compare.Millis:
		if v < 100 {
			return fixed(v, 1)
		}
	}
	return fixed(v, 0)
}

// percent is a share; only what is exactly all or nothing is 100% or 0%.
func percent(v float64) string {
	switch text := fixed(100*v, 1); {
	case v == 0 || v == 1:
		return fixed(100*v, 0) + "%"
	case text == "0.0" && v > 0:
		return "<0.1%"
	case text == "100.0" && v < 1:
		return ">99.9%"
	default:
		return text + "%"
	}
}

// fixed is v with a number of decimals and no "-0".
func fixed(v float64, decimals int) string {
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(text, "-0.") == "" {
		return strings.TrimPrefix(text, "-")
	}
	return text
}

// signed is the number with a sign, unless it is 0.
func signed(number string) string {
	if strings.HasPrefix(number, "-") || strings.Trim(number, "0.") == "" {
		return number
	}
	return "+" + number
}

// exact is v for programs: to 6 decimals, without trailing zeros.
func exact(v float64) string {
	text := fixed(v, 6)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// superscript is the marks as small digits, as in ¹ or ¹ʼ².
func superscript(marks []int) string {
	parts := make([]string, len(marks))
	for i, mark := range marks {
		parts[i] = strings.Map(func(r rune) rune { return []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")[r-'0'] }, strconv.Itoa(mark))
	}
	return strings.Join(parts, "ʼ")
}

// printable is the text in one line, with every control, invisible or
// direction-changing character, which could forge lines or colours in a
// terminal, replaced.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// heading is what a group's rows have in common: its title, and in which
// conditions.
func heading(g compare.Group) (title, conditions string) {
	return printable(g.Title), printable(g.Conditions)
}

// ranges are the ranges of a repeated row's figures in words, for the columns
// whose repetitions differ, with the interval of the median where it is narrower.
func ranges(columns []compare.Column, row compare.Row) []string {
	var parts []string
	for _, c := range columns {
		stat := row.Stat(c)
		low, high := figure(c.Kind, stat.Low), figure(c.Kind, stat.High)
		if !stat.Known() || stat.N < 2 || low == high {
			continue
		}
		part := c.Title + " " + low + "–" + high
		if l, h, ok := stat.Interval(); ok && (l > stat.Low || h < stat.High) {
			part += " [" + figure(c.Kind, l) + ", " + figure(c.Kind, h) + "]"
		}
		if stat.Beyond > 0 {
			part += fmt.Sprintf(" and beyond in %d", stat.Beyond)
		}
		parts = append(parts, part)
	}
	return parts
}
