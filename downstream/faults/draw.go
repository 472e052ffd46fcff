package faults

// Stream names one random decision about a call. Each decision has a stream of its own, so that a new
// one never shifts the draws of the others. The numbers are part of what a seed means: never reuse or
// renumber them.
type Stream uint64

// StreamFailure decides whether a call fails.
const StreamFailure Stream = 1

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
