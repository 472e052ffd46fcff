package compare

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/DataDog/sketches-go/ddsketch"
	"github.com/DataDog/sketches-go/ddsketch/mapping"
	"github.com/DataDog/sketches-go/ddsketch/store"
)

const (
	// exactValues is how many values a distribution that grows by samples keeps
	// as they are, and mergedValues how many one keeps that is merged of whole
	// ones.
	exactValues  = 1 << 15
	mergedValues = 1 << 20
	// relativeError bounds the error of a sketch: 0.1 %.
	relativeError = 0.001
)

// distribution is the values of a trend: all of them up to a bound, and beyond
// it a DDSketch, whose every value is off by at most relativeError. The zero
// value is empty.
type distribution struct {
	values   []float64
	sketch   *ddsketch.DDSketch
	count    uint64
	sum      float64
	min, max float64
}

// add takes a finite value in.
func (d *distribution) add(v float64) {
	if d.count == 0 {
		d.min, d.max = v, v
	}
	d.count++
	d.sum += v
	d.min, d.max = min(d.min, v), max(d.max, v)
	if d.sketch != nil {
		d.put(v)
		return
	}
	if d.values = append(d.values, v); len(d.values) > exactValues {
		d.blur()
	}
}

// merge takes the values of another distribution in, which is of no use after.
func (d *distribution) merge(o *distribution) error {
	if o.count == 0 {
		return nil
	}
	if d.count == 0 {
		*d = *o
		return nil
	}
	d.count += o.count
	d.sum += o.sum
	d.min, d.max = min(d.min, o.min), max(d.max, o.max)
	if d.sketch == nil && o.sketch == nil {
		if d.values = append(d.values, o.values...); len(d.values) > mergedValues {
			d.blur()
		}
		return nil
	}
	if d.sketch == nil {
		d.blur()
	}
	for _, v := range o.values {
		d.put(v)
	}
	if o.sketch == nil {
		return nil
	}
	return d.sketch.MergeWith(o.sketch)
}

// blur replaces the values by a sketch of them.
func (d *distribution) blur() {
	d.sketch = newSketch(store.BufferedPaginatedStoreConstructor)
	for _, v := range d.values {
		d.put(v)
	}
	d.values = nil
}

func newSketch(stores store.Provider) *ddsketch.DDSketch {
	log, err := mapping.NewLogarithmicMapping(relativeError)
	if err != nil {
		panic(err) // only where the constant is not between 0 and 1
	}
	return ddsketch.NewDDSketchFromStoreProvider(log, stores)
}

func (d *distribution) put(v float64) {
	most := d.sketch.MaxIndexableValue()
	_ = d.sketch.Add(max(-most, min(v, most))) // fails only for what is out of its range
}

// trendValues are the statistics of a trend; without samples there are none.
func (d *distribution) trendValues() map[string]float64 {
	out := map[string]float64{"count": float64(d.count)}
	if d.count == 0 {
		return out
	}
	slices.Sort(d.values)
	for name, v := range map[string]float64{
		"avg": d.sum / float64(d.count), "min": d.min, "max": d.max, "med": d.percentile(50),
		"p(90)": d.percentile(90), "p(95)": d.percentile(95), "p(99)": d.percentile(99), "p(99.9)": d.percentile(99.9),
	} {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			out[name] = v
		}
	}
	return out
}

// percentile is interpolated linearly between the two values next to it, as k6
// does. The values are in order.
func (d *distribution) percentile(p float64) float64 {
	pos := p / 100 * float64(d.count-1)
	lo, hi := math.Floor(pos), math.Ceil(pos)
	a, b := d.at(uint64(lo)), d.at(uint64(hi))
	if a == b { // two infinite ones have no difference
		return a
	}
	return a + (b-a)*(pos-lo)
}

// at is the value with rank others before it.
func (d *distribution) at(rank uint64) float64 {
	switch {
	case d.sketch == nil:
		return d.values[rank]
	case rank == 0:
		return d.min
	case rank == d.count-1:
		return d.max
	}
	negative, positive := d.sketch.GetNegativeValueStore(), d.sketch.GetPositiveValueStore()
	below, r := negative.TotalCount(), float64(rank)
	zero := below + d.sketch.GetZeroCount()
	v := 0.0
	switch {
	case r < below: // the store has their magnitudes, the least first
		v = -d.sketch.Value(negative.KeyAtRank(below - 1 - r))
	case r >= zero:
		v = d.sketch.Value(positive.KeyAtRank(r - zero))
	}
	return max(d.min, min(v, d.max))
}

// decodeSketch reads a sketch that may say anything: its bins must be ones that
// a value can be in, and count to the total.
func decodeSketch(data []byte, count uint64) (*ddsketch.DDSketch, error) {
	read, err := ddsketch.DecodeDDSketch(data, store.SparseStoreConstructor, nil)
	if err != nil {
		return nil, fmt.Errorf("its sketch: %w", err)
	}
	out := newSketch(store.BufferedPaginatedStoreConstructor)
	if !out.Equals(read.IndexMapping) {
		return nil, fmt.Errorf("its sketch has a relative error of %v: only %v is read", read.RelativeAccuracy(), relativeError)
	}
	least, most := out.Index(out.MinIndexableValue()), out.Index(out.MaxIndexableValue())
	total := read.GetZeroCount()
	if !(total >= 0) {
		return nil, fmt.Errorf("its sketch counts %v zeros", total)
	}
	for _, side := range []store.Store{read.GetPositiveValueStore(), read.GetNegativeValueStore()} {
		side.ForEach(func(index int, n float64) bool {
			if total += n; index < least || index > most || !(n >= 0) {
				err = fmt.Errorf("its sketch has %v values in bin %d", n, index)
			}
			return err != nil
		})
		if err != nil {
			return nil, err
		}
	}
	if total != float64(count) {
		return nil, fmt.Errorf("its sketch has %v values, and it says %d", total, count)
	}
	if count == 0 {
		return nil, errors.New("its sketch is empty")
	}
	return out, out.MergeWith(read)
}
