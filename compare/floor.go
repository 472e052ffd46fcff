package compare

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Floor is the greatest difference of a figure that matters to nobody, however
// significant. The zero Floor is none.
type Floor struct {
	// Value is a share of the base if Relative, and else in the figure's unit.
	Value    float64
	Relative bool
}

// holds says whether the change is within the floor.
func (f Floor) holds(c Change) bool {
	limit := f.Value
	if f.Relative {
		limit *= math.Abs(c.Base.Value)
	}
	return math.Abs(c.Delta()) <= limit
}

// String is the floor as [ParseFloor] reads it.
func (f Floor) String() string {
	if f.Relative {
		return decimal(100*f.Value) + "%"
	}
	return decimal(f.Value)
}

// Floors are floors by the name of the figure.
type Floors map[string]Floor

// DefaultFloors are the floors of the figures of [Judged]: for shares an absolute
// half of a percentage point of success and two points of work, for calls 2 %, for
// speeds and times, which depend on the machine too, 5 %; and a second
// of recovery.
func DefaultFloors() Floors {
	relative := func(v float64) Floor { return Floor{Value: v, Relative: true} }
	return Floors{
		"success_rate":                   {Value: .005},
		"retry_amplification_factor":     relative(.02),
		"successful_requests_per_second": relative(.05),
		"successful_request_p95_ms":      relative(.05),
		"all_attempt_p95_ms":             relative(.05),
		"wasted_share":                   {Value: .02},
		"max_inflight_downstream":        relative(.05),
		"recovery_s":                     {Value: 1}, // it goes by seconds
	}
}

// ParseFloor reads NAME=2% (a share of the base's figure) or NAME=0.005 (in the
// figure's own unit: for success_rate this is half a percentage point). A name is
// one that [ParseGate] knows.
func ParseFloor(text string) (name string, floor Floor, err error) {
	word, value, ok := strings.Cut(text, "=")
	if !ok {
		return "", Floor{}, fmt.Errorf("floor %q: wanted NAME=2%% or NAME=0.005", text)
	}
	column, err := judged(strings.TrimSpace(word))
	if err != nil {
		return "", Floor{}, fmt.Errorf("floor %q: %w", text, err)
	}
	number, relative := strings.CutSuffix(strings.TrimSpace(value), "%")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 0) {
		return "", Floor{}, fmt.Errorf("floor %q: %q is no number of at least 0, such as 2%% or 0.005", text, value)
	}
	if relative {
		v /= 100
	}
	return column.Name, Floor{Value: v, Relative: relative}, nil
}
