package executor

import (
	"fmt"
	"math/big"
	"math/bits"
	"slices"
	"strings"
)

// Segment is a part of a run, where several instances share it: from
// (included) to (excluded), shares of the whole. The zero value is the whole.
//
// Segments that together are the whole do together exactly what the whole
// would: as many virtual users and iterations, and the same arrivals.
type Segment struct {
	from, to *big.Rat // nil: 0 and 1
}

// ParseSegment reads a segment as k6 writes them: `from:to`, or `to` alone
// for one that begins at 0. Each is a fraction (`1/3`), a decimal number
// (`0.25`) or a percentage (`10%`). Empty is the whole.
func ParseSegment(text string) (Segment, error) {
	if strings.TrimSpace(text) == "" {
		return Segment{}, nil
	}
	before, after, both := strings.Cut(text, ":")
	if !both {
		before, after = "0", before
	}
	from, err := parseShare(before)
	if err != nil {
		return Segment{}, err
	}
	to, err := parseShare(after)
	if err != nil {
		return Segment{}, err
	}
	if from.Sign() < 0 || to.Cmp(big.NewRat(1, 1)) > 0 || from.Cmp(to) >= 0 {
		return Segment{}, fmt.Errorf("segment %q: want 0 ≤ from < to ≤ 1", text)
	}
	return Segment{from, to}, nil
}

func parseShare(text string) (*big.Rat, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	const longest = 30 // digits; a share needs no more, and 1e999999999 none at all
	if len(number) > longest || strings.ContainsAny(number, "eEpPxX_") {
		return nil, fmt.Errorf("segment bound %q: want a fraction, a number or a percentage", text)
	}
	r, ok := new(big.Rat).SetString(number)
	if !ok {
		return nil, fmt.Errorf("segment bound %q: want a fraction, a number or a percentage", text)
	}
	if percent {
		r.Quo(r, big.NewRat(100, 1))
	}
	return r, nil
}

// CheckSequence says whether s is one of the segments of a sequence: bounds
// from 0 to 1 in order, such as `0,1/4,1/2,3/4,1`. Nothing else is needed of
// it here: a segment does not have to know the others.
func CheckSequence(sequence string, s Segment) error {
	if strings.TrimSpace(sequence) == "" {
		return nil
	}
	var bounds []*big.Rat
	for _, part := range strings.Split(sequence, ",") {
		b, err := parseShare(part)
		if err != nil {
			return err
		}
		if n := len(bounds); n > 0 && bounds[n-1].Cmp(b) >= 0 {
			return fmt.Errorf("segment sequence %q: %s does not follow %s", sequence, b.RatString(), bounds[n-1].RatString())
		}
		bounds = append(bounds, b)
	}
	n := len(bounds)
	if n < 2 || bounds[0].Sign() != 0 || bounds[n-1].Cmp(big.NewRat(1, 1)) != 0 {
		return fmt.Errorf("segment sequence %q: want bounds from 0 to 1", sequence)
	}
	from, to := s.bounds()
	i := slices.IndexFunc(bounds, func(b *big.Rat) bool { return b.Cmp(from) == 0 })
	if i < 0 || i+1 == n || bounds[i+1].Cmp(to) != 0 {
		return fmt.Errorf("segment %s is none of the sequence %q", s, sequence)
	}
	return nil
}

func (s Segment) bounds() (from, to *big.Rat) {
	if s.to == nil {
		return new(big.Rat), big.NewRat(1, 1)
	}
	return s.from, s.to
}

// String is the segment as ParseSegment reads it.
func (s Segment) String() string {
	from, to := s.bounds()
	return from.RatString() + ":" + to.RatString()
}

// Share is how much of the whole the segment is, in (0, 1].
func (s Segment) Share() float64 {
	from, to := s.bounds()
	share, _ := new(big.Rat).Sub(to, from).Float64()
	return share
}

// span is which of n things, numbered from 0, are the segment's: those from lo
// to hi, hi excluded.
func (s Segment) span(n int64) (lo, hi int64) {
	from, to := s.bounds()
	return part(from, n), part(to, n)
}

// part is ⌊r·n⌋.
func part(r *big.Rat, n int64) int64 {
	x := new(big.Int).Mul(r.Num(), big.NewInt(n))
	return x.Quo(x, r.Denom()).Int64()
}

// Scale is how many of n things are the segment's.
func (s Segment) Scale(n int64) int64 {
	lo, hi := s.span(n)
	return hi - lo
}

// of is the segment that has its bounds between two of n things, where s has
// its share of them. It is empty where that is none.
func (s Segment) of(n int64) Segment {
	if s.to == nil {
		return s
	}
	lo, hi := s.span(n)
	return Segment{big.NewRat(lo, n), big.NewRat(hi, n)}
}

// Has says whether the i-th of a row of things, from 0, is the segment's. Over
// any stretch of the row each segment has its share of it, evenly spread: the
// multiples of the golden ratio fill the circle more evenly than those of any
// other number (Weyl, 1916; three-distance theorem).
func (s Segment) Has(i int64) bool {
	if s.to == nil {
		return true
	}
	const golden = 0x9E3779B97F4A7C15 // 2⁶⁴ divided by the golden ratio
	at := uint64(i) * golden          // the place on the circle, in 2⁻⁶⁴
	return s.begins(at, s.from) && !s.begins(at, s.to)
}

// begins says whether at, in 2⁻⁶⁴, is at r or beyond.
func (s Segment) begins(at uint64, r *big.Rat) bool {
	if num, den := r.Num(), r.Denom(); num.IsUint64() && den.IsUint64() {
		// at/2⁶⁴ ≥ num/den
		hi, _ := bits.Mul64(at, den.Uint64())
		return hi >= num.Uint64()
	}
	x := new(big.Int).SetUint64(at)
	x.Mul(x, r.Denom())
	x.Rsh(x, 64)
	return x.Cmp(r.Num()) >= 0
}

// Row counts the things of a row that are a segment's.
type Row struct {
	segment Segment
	next    int64
}

// Row begins at the first.
func (s Segment) Row() *Row { return &Row{segment: s} }

// Next is the number of the next one, in the whole row.
func (r *Row) Next() int64 {
	for !r.segment.Has(r.next) {
		r.next++
	}
	r.next++
	return r.next - 1
}

// Nth is the number, in the whole row, of the segment's n-th thing; both count
// from 0.
func (s Segment) Nth(n int64) int64 {
	if s.to == nil {
		return n
	}
	row := s.Row()
	for range n {
		row.Next()
	}
	return row.Next()
}
