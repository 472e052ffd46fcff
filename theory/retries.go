package theory

import "math"

// Success returns the share of requests that succeed, 1−pⁿ.
//
// Preconditions: attempts fail independently of each other with the same
// probability p in [0, 1]; a request makes up to n ≥ 1 attempts and stops at its
// first success; every failure is retried at once or after a wait that changes
// nothing. The result is NaN for p or n out of range.
//
// Source: the probability that n Bernoulli trials do not all fail.
func Success(p float64, n int) float64 {
	if !inModel(p, n) {
		return math.NaN()
	}
	return 1 - math.Pow(p, float64(n))
}

// Amplification returns the expected calls per request, (1−pⁿ)/(1−p); for p = 1
// its limit n. Always Success = Amplification·(1−p), since each request that
// succeeds holds exactly one call that did.
//
// Preconditions and out-of-range result: as for [Success].
//
// Source: the mean of a geometric distribution cut off at n, Σ pⁱ for i < n.
func Amplification(p float64, n int) float64 {
	if !inModel(p, n) {
		return math.NaN()
	}
	return geometric(p, float64(n))
}

// TierAmplification returns the expected calls that reach the bottom for one
// request at the top of k tiers, (1−p^(n^k))/(1−p); for p = 1 its limit n^k. It
// is +Inf where n^k is beyond a float64 and p is 1.
//
// Preconditions: those of [Success] for calls to the bottom; each of the k ≥ 1
// tiers makes up to n attempts and fails when all of them failed; only the
// bottom fails of its own. The result is NaN for p, n or k out of range.
//
// Source: tier i turns one request into (1−p^(n^i))/(1−p^(n^(i−1))) calls to the
// tier below; the product over all tiers telescopes.
func TierAmplification(p float64, n, k int) float64 {
	if !inModel(p, n) || k < 1 {
		return math.NaN()
	}
	return geometric(p, math.Pow(float64(n), float64(k)))
}

// CallsStdDev returns the standard deviation of the number of calls that one
// request makes. The mean over N requests has 1/√N of it.
//
// Preconditions and out-of-range result: as for [Success].
//
// Source: E[C] = Σ pⁱ and E[C²] = Σ (2i+1)·pⁱ for i < n, from the tail sums of
// P(C > i) = pⁱ.
func CallsStdDev(p float64, n int) float64 {
	if !inModel(p, n) {
		return math.NaN()
	}
	mean, square, tail := 0.0, 0.0, 1.0
	for i := 0; i < n && tail > 0; i++ {
		mean += tail
		square += float64(2*i+1) * tail
		tail *= p
		if p == 1 {
			return 0
		}
	}
	return math.Sqrt(max(0, square-mean*mean))
}

// inModel is written so that a NaN p is refused.
func inModel(p float64, n int) bool { return p >= 0 && p <= 1 && n >= 1 }

// geometric is (1−p^m)/(1−p). Near p = 1 both differences cancel; expm1 keeps the
// digits that 1−p^m would lose.
func geometric(p, m float64) float64 {
	if p == 1 {
		return m
	}
	return -math.Expm1(m*math.Log(p)) / (1 - p)
}
