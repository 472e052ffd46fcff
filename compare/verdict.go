package compare

import (
	"math"

	"golang.org/x/perf/benchmath"
)

// DefaultAlpha is the level of significance that is asked for unless another one
// is: of a hundred figures that did not change, five differ as much by chance.
const DefaultAlpha = .05

// Direction says which way a figure is better.
type Direction int

// The directions. A figure without one is neither better nor worse.
const (
	Neither Direction = iota
	Higher
	Lower
)

// Verdict is what the comparison of one figure in two places comes to.
type Verdict string

// The verdicts, as they are written.
const (
	Better  Verdict = "better"
	Worse   Verdict = "worse"
	Changed Verdict = "changed" // differs, and has no better direction
	Alike   Verdict = "~"       // no significant difference, or one within the floor
	TooFew  Verdict = "too few" // repetitions for any difference to be significant
	Missing Verdict = "missing" // on one side or both
)

// Change is a figure of a base and of a head, and what their difference is worth.
type Change struct {
	Base, Head Stat
	// P is the probability of a difference at least as great where nothing
	// changed; 1 if there was nothing to test.
	P float64
	// Significant says whether P is at most the level that was asked for.
	Significant bool
	// TooFew says that no difference could be significant with so few figures.
	TooFew bool
}

// newChange tests by the Mann-Whitney U test whether the two samples come from
// the same distribution; it assumes nothing of that. It is exact for up to 25
// figures a side (50 where none are equal) and a normal approximation beyond.
//
// Source: Mann and Whitney, On a Test of Whether one of Two Random Variables is
// Stochastically Larger than the Other (1947), through benchmath as in benchstat.
func newChange(base, head Stat, alpha float64) Change {
	c := Change{Base: base, Head: head, P: 1}
	if base.N == 0 || head.N == 0 {
		return c
	}
	c.TooFew = leastP(base.N, head.N) > alpha
	// The exact one counts the middle on both sides where figures are equal.
	c.P = min(1, benchmath.AssumeNothing.Compare(sample(base.all()), sample(head.all())).P)
	c.Significant = c.P <= alpha
	return c
}

// leastP is the least P that samples of these sizes can have: that of the one
// order of all figures, of C(m+n, n), in which one side is wholly above the
// other, twice because either may be.
func leastP(m, n int) float64 {
	p := 2.0
	for i := 1; i <= n; i++ {
		p *= float64(i) / float64(m+i)
	}
	return min(1, p)
}

// Known says whether both medians are, so that there is a difference to tell.
func (c Change) Known() bool { return c.Base.Known() && c.Head.Known() }

// Delta is the head's median − the base's, in the figure's own unit; 0 if one is
// not known.
func (c Change) Delta() float64 {
	if !c.Known() {
		return 0
	}
	return c.Head.Value - c.Base.Value
}

// Relative is Delta as a share of the base's median, and false where that is 0 or
// a figure is missing.
func (c Change) Relative() (float64, bool) {
	return ratio(c.Delta(), c.Known(), math.Abs(c.Base.Value), true)
}

// verdict judges the change of a figure that is better in a direction. A
// difference that is no greater than the floor is none.
func (c Change) verdict(better Direction, floor Floor) Verdict {
	if c.Base.N == 0 || c.Head.N == 0 {
		return Missing
	}
	before, after := c.Base.median(), c.Head.median()
	switch {
	case c.TooFew:
		return TooFew
	case !c.Significant || before == after:
		return Alike
	case c.Known() && floor.holds(c):
		return Alike
	case better == Neither:
		return Changed
	case (after > before) == (better == Higher):
		return Better
	}
	return Worse
}
