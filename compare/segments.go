package compare

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// segments are parts of a run, from:to of 1, in order and without overlap.
type segments []segment

type segment struct {
	from, to *big.Rat
	file     string
}

// add takes a segment in, as text like "1/4:1/2".
func (s *segments) add(file, text string) error {
	before, after, ok := strings.Cut(text, ":")
	from, okFrom := bound(before)
	to, okTo := bound(after)
	if !ok || !okFrom || !okTo || from.Sign() < 0 || from.Cmp(to) >= 0 || to.Cmp(big.NewRat(1, 1)) > 0 {
		return fmt.Errorf("segment %s is none: wanted from:to with 0 ≤ from < to ≤ 1", quoted(text))
	}
	for _, other := range *s {
		if from.Cmp(other.to) < 0 && other.from.Cmp(to) < 0 {
			return fmt.Errorf("its segment %s overlaps %s of %s", text, other, other.file)
		}
	}
	*s = append(*s, segment{from, to, file})
	slices.SortFunc(*s, func(a, b segment) int { return a.from.Cmp(b.from) })
	return nil
}

// bound reads a fraction, a decimal number or a percentage.
func bound(text string) (*big.Rat, bool) {
	number, percent := strings.CutSuffix(text, "%")
	if len(number) > 40 || strings.Trim(number, "0123456789./") != "" {
		return nil, false
	}
	r, ok := new(big.Rat).SetString(number)
	if ok && percent {
		r.Quo(r, big.NewRat(100, 1))
	}
	return r, ok
}

// missing names the first part that no segment is, "" if there is none.
func (s segments) missing() string {
	end := new(big.Rat)
	for _, next := range s {
		if end.Cmp(next.from) < 0 {
			return segment{from: end, to: next.from}.String()
		}
		end = next.to
	}
	if whole := big.NewRat(1, 1); len(s) > 0 && end.Cmp(whole) < 0 {
		return segment{from: end, to: whole}.String()
	}
	return ""
}

// String is the segment as it is written.
func (s segment) String() string { return s.from.RatString() + ":" + s.to.RatString() }
