package render

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/retrylab/retrylab/compare"
)

// diffTitle is what the diff comes to, in a line.
func diffTitle(d compare.Diff) string {
	var parts []string
	for _, v := range []compare.Verdict{compare.Worse, compare.Better, compare.Changed, compare.TooFew, compare.Missing} {
		if n := d.Count(v); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	if n := len(d.Gone); n > 0 {
		parts = append(parts, fmt.Sprintf("%d only in the base", n))
	}
	if n := d.Count(compare.Alike); n > 0 || len(parts) == 0 {
		parts = append(parts, fmt.Sprintf("%d without a difference", n))
	}
	return strings.Join(parts, ", ")
}

// sides are the base and the head in words.
func sides(d compare.Diff) string {
	side := func(labs []string) string {
		if len(labs) > 3 {
			return fmt.Sprintf("%d labs (%s, …)", len(labs), printable(labs[0]))
		}
		return printable(strings.Join(labs, ", "))
	}
	return side(d.Base) + " → " + side(d.Head)
}

// diffHeading is a column of a diff in words: its title, and which way is better
// and what its floor is.
func diffHeading(d compare.Diff, c compare.Column) (title, about string) {
	about = "higher is better"
	if c.Better == compare.Lower {
		about = "lower is better"
	}
	return c.Title, about + ", floor " + floorText(c, d.Floors[c.Name])
}

// floorText is a floor in the unit in which differences are shown.
func floorText(c compare.Column, f compare.Floor) string {
	if c.Kind == compare.Share && !f.Relative {
		return exact(100*f.Value) + " pt"
	}
	return f.String()
}

// spread is how far the interval of the median reaches from it, as benchstat
// prints it: as a share of the median, ∞ where the repetitions give no interval.
func spread(s compare.Stat) string {
	low, high, ok := s.Interval()
	switch {
	case !s.Known():
		return ""
	case !ok:
		return "± ∞"
	case low == high:
		return "± 0%"
	case s.Value == 0:
		return ""
	}
	return fmt.Sprintf("± %.0f%%", 100*max(high-s.Value, s.Value-low)/math.Abs(s.Value))
}

// side is one figure of a diff.
func side(c compare.Column, s compare.Stat) string {
	if !s.Known() {
		return missing
	}
	return figure(c.Kind, s.Value)
}

// delta is the difference where it is significant: in percentage points for
// shares, in percent of the base else.
func delta(j compare.Judgement) string {
	switch {
	case !j.Known(), j.Verdict == compare.TooFew, !j.Significant:
		return ""
	case j.Column.Kind == compare.Share:
		return figure(compare.Points, j.Delta())
	}
	if share, ok := j.Relative(); ok {
		return signed(fixed(100*share, 1)) + "%"
	}
	return signed(figure(j.Column.Kind, j.Delta()))
}

// verdict is the verdict, with the reason why a significant difference is none.
func verdict(j compare.Judgement) string {
	if j.Verdict == compare.Alike && j.Significant {
		return same + " within the floor"
	}
	return string(j.Verdict)
}

// test is the test in words, as benchstat prints it.
func test(j compare.Judgement) string {
	n := fmt.Sprintf("n=%d+%d", j.Base.N, j.Head.N)
	if j.Base.N == j.Head.N {
		n = "n=" + strconv.Itoa(j.Base.N)
	}
	if j.Verdict == compare.Missing {
		return n
	}
	return fmt.Sprintf("p=%.3f %s", j.P, n)
}

// diffSentence is a judgement in a line.
func diffSentence(j compare.Judgement) string {
	parts := []string{side(j.Column, j.Base) + " → " + side(j.Column, j.Head)}
	if d := delta(j); d != "" {
		parts = append(parts, d)
	}
	return strings.Join(append(parts, verdict(j), test(j)), ", ")
}
