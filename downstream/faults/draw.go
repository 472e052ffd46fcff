package faults

import (
	"math"
	"time"
)

// Stream names one random decision about a call. Each decision has a stream of its own, so that a new
// one never shifts the draws of the others. The numbers are part of what a seed means: never reuse or
// renumber them.
type Stream uint64

// The streams.
const (
	StreamFailure  Stream = 1 // whether a call fails
	StreamService  Stream = 2 // how long its service takes
	StreamBurst    Stream = 3 // where a burst begins or ends
	StreamInstance Stream = 4 // which instance it goes to
	StreamKey      Stream = 5 // which key of a cache it asks for
	StreamHang     Stream = 6 // whether it is left without an answer
	StreamBody     Stream = 7 // whether its answer's body misbehaves
)

// Uniform returns the call's draw of a stream: uniform in [0, 1), always the same for the same seed,
// call number and stream.
func (c Call) Uniform(s Stream) float64 {
	const weyl = 0x9e3779b97f4a7c15
	// Mixing the seed and the stream before the call number is added keeps two seeds that lie close
	// together from giving one sequence shifted by a few calls.
	x := mix(c.Seed + weyl)
	x = mix(x + uint64(s)*weyl)
	x = mix(x + c.N*weyl)
	return float64(x>>11) / (1 << 53)
}

// mix is the finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection in which every input bit
// reaches every output bit.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// exponential returns the call's exponentially distributed service time, at most [MaxDelay].
func (c Call) exponential(mean time.Duration) time.Duration {
	// Uniform is below 1, so the logarithm is finite.
	return time.Duration(min(-math.Log1p(-c.Uniform(StreamService))*float64(mean), float64(MaxDelay)))
}
