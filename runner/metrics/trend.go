package metrics

import (
	"math"
	"slices"

	"github.com/DataDog/sketches-go/ddsketch"
	"github.com/DataDog/sketches-go/ddsketch/mapping"
	"github.com/DataDog/sketches-go/ddsketch/store"
)

const (
	// ExactValues is how many values a [TrendSink] keeps as they are.
	ExactValues = 1 << 15
	// RelativeError bounds how far the percentiles of a [TrendSink] with more
	// values are from the exact ones: 0.1 %.
	RelativeError = 0.001
)

// TrendSink keeps a distribution. Its zero value is ready; all of its
// statistics are 0 while it is empty.
//
// Up to [ExactValues] values are kept, and every statistic is exact. Beyond
// them the values are counted in a DDSketch (Masson, Rim and Lee: DDSketch: a
// fast and fully-mergeable quantile sketch with relative-error guarantees,
// VLDB 2019): count, sum, average, least and greatest value stay exact, and
// each value that a percentile lies at or between is off by at most
// [RelativeError]. The sketch never merges bins to save memory, so that this
// holds for every range of values: its size grows with the logarithm of that
// range, not with the number of values. Six decades, as from a microsecond to a
// second, take at most 7,000 bins (60 kB); all that a float64 can hold, 6 MB for
// each sign. Values nearer to 0 than 2.3e-308 count as 0, infinite ones as the
// greatest that the sketch can hold.
type TrendSink struct {
	values   []float64
	sorted   int // values[:sorted] are in order
	sketch   *ddsketch.DDSketch
	count    uint64
	sum      float64
	min, max float64
}

// Add takes one sample in.
func (t *TrendSink) Add(v float64, _ int64) {
	if t.count == 0 {
		t.min, t.max = v, v
	}
	t.count++
	t.sum += v
	t.min, t.max = min(t.min, v), max(t.max, v)
	if t.sketch != nil {
		t.addToSketch(v)
		return
	}
	t.values = append(t.values, v)
	if len(t.values) > ExactValues {
		t.sketch = newSketch()
		for _, v := range t.values {
			t.addToSketch(v)
		}
		t.values, t.sorted = nil, 0
	}
}

func newSketch() *ddsketch.DDSketch {
	log, err := mapping.NewLogarithmicMapping(RelativeError)
	if err != nil {
		panic(err) // only where the constant is not between 0 and 1
	}
	return ddsketch.NewDDSketchFromStoreProvider(log, store.BufferedPaginatedStoreConstructor)
}

func (t *TrendSink) addToSketch(v float64) {
	most := t.sketch.MaxIndexableValue()
	if err := t.sketch.Add(max(-most, min(v, most))); err != nil {
		panic(err) // the sketch refuses only what is out of its range
	}
}

// Empty says that no sample was added.
func (t *TrendSink) Empty() bool { return t.count == 0 }

// Count is how many samples there are.
func (t *TrendSink) Count() uint64 { return t.count }

// Sum is the sum of all values.
func (t *TrendSink) Sum() float64 { return t.sum }

// Min is the least value.
func (t *TrendSink) Min() float64 { return t.min }

// Max is the greatest value.
func (t *TrendSink) Max() float64 { return t.max }

// Avg is the arithmetic mean.
func (t *TrendSink) Avg() float64 {
	if t.count == 0 {
		return 0
	}
	return t.sum / float64(t.count)
}

// Percentile is the value at pct of 100, interpolated linearly between the
// two that are next to it, as k6 does. It is 0 for a pct outside of [0, 100].
func (t *TrendSink) Percentile(pct float64) float64 {
	if t.count == 0 || !(pct >= 0 && pct <= 100) {
		return 0
	}
	pos := pct / 100 * float64(t.count-1)
	lo, hi := math.Floor(pos), math.Ceil(pos)
	a, b := t.at(uint64(lo)), t.at(uint64(hi))
	if a == b { // two infinite ones have no difference
		return a
	}
	return a + (b-a)*(pos-lo)
}

// at is the value with rank others before it, in order.
func (t *TrendSink) at(rank uint64) float64 {
	switch {
	case t.sketch == nil:
		return t.Values()[rank]
	case rank == 0:
		return t.min
	case rank == t.count-1:
		return t.max
	}
	negative, positive := t.sketch.GetNegativeValueStore(), t.sketch.GetPositiveValueStore()
	below, r := negative.TotalCount(), float64(rank)
	zero := below + t.sketch.GetZeroCount()
	v := 0.0
	switch {
	case r < below: // the store has their magnitudes, the least first
		v = -t.sketch.Value(negative.KeyAtRank(below - 1 - r))
	case r >= zero:
		v = t.sketch.Value(positive.KeyAtRank(r - zero))
	}
	return max(t.min, min(v, t.max))
}

// Values are the values in order as long as all of them are kept, nil beyond.
// The slice is the sink's own.
func (t *TrendSink) Values() []float64 {
	if t.sorted != len(t.values) {
		slices.Sort(t.values)
		t.sorted = len(t.values)
	}
	return t.values
}

// Sketch is the sketch in the binary encoding of DataDog's sketches-go, its
// index mapping included; nil as long as the values are kept.
func (t *TrendSink) Sketch() []byte {
	if t.sketch == nil {
		return nil
	}
	var b []byte
	t.sketch.Encode(&b, false)
	return b
}
