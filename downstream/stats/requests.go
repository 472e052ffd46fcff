package stats

import (
	"hash/maphash"
	"time"
)

// generation is how many requests are remembered at least, and half of how many at most.
const generation = 1 << 16

// requests remembers requests by a hash of their id. What was not asked for while [generation] others
// were is forgotten, so that memory is bounded: an attempt that comes later than that is taken for one
// of a new request. The zero value is empty.
type requests struct {
	seed       maphash.Seed
	young, old map[uint64]*request
}

// request is what is known of one request.
type request struct {
	won time.Time // when an attempt was answered in time; zero: not yet
	by  uint64    // the number of that call
}

// of returns the request of an id; a new one, if it is not remembered.
func (r *requests) of(id string) *request {
	if r.young == nil {
		r.seed = maphash.MakeSeed()
		r.young = make(map[uint64]*request)
	}
	key := maphash.String(r.seed, id)
	if q, ok := r.young[key]; ok {
		return q
	}
	q, ok := r.old[key]
	if !ok {
		q = new(request)
	}
	if len(r.young) >= generation {
		r.old, r.young = r.young, make(map[uint64]*request)
	}
	r.young[key] = q
	return q
}

// win notes that the call with number n was answered. Only the first win counts.
func (q *request) win(now time.Time, n uint64) {
	if q.won.IsZero() {
		q.won, q.by = now, n
	}
}

// wonBefore reports whether a call other than n has won by now.
func (q *request) wonBefore(now time.Time, n uint64) bool {
	return !q.won.IsZero() && q.by != n && !q.won.After(now)
}
