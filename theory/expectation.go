package theory

// Expectation is either a number that a formula gives or the reason why no
// formula applies. The zero Expectation is outside the model without a stated
// reason.
type Expectation struct {
	value  float64
	known  bool
	reason string
}

// Expected returns the Expectation of the number v.
func Expected(v float64) Expectation { return Expectation{value: v, known: true} }

// OutsideModel returns an Expectation without a number. The reason is a clause
// in lower case that fits after "outside model: ".
func OutsideModel(reason string) Expectation { return Expectation{reason: reason} }

// Value returns the number and true, or 0 and false outside the model.
func (e Expectation) Value() (v float64, ok bool) { return e.value, e.known }

// Reason says why there is no number; it is empty when there is one.
func (e Expectation) Reason() string {
	if e.known {
		return ""
	}
	if e.reason == "" {
		return "no formula applies"
	}
	return e.reason
}
