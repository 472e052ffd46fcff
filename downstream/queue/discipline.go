package queue

import "fmt"

// Discipline says which of the waiting calls is served next.
type Discipline int

// The disciplines.
const (
	// FIFO serves in order of arrival. It is the zero value.
	FIFO Discipline = iota
	// LIFO serves the latest arrival first.
	LIFO
	// CoDel serves in order of arrival and sheds at the head while waits have been longer than
	// [Config.Target] for [Config.Interval], more and more often as long as that lasts (RFC 8289).
	CoDel
	// Deadline serves in order of arrival and sheds a call whose caller, by the patience it announced,
	// will not wait for [Config.Service] more.
	Deadline
)

var disciplines = []string{"fifo", "lifo", "codel", "deadline"}

// Disciplines returns the texts that [ParseDiscipline] reads. The slice is the caller's.
func Disciplines() []string { return append([]string(nil), disciplines...) }

// ParseDiscipline returns the Discipline written as "fifo", "lifo", "codel" or "deadline".
func ParseDiscipline(s string) (Discipline, error) {
	for i, text := range disciplines {
		if s == text {
			return Discipline(i), nil
		}
	}
	return 0, fmt.Errorf("discipline %q is none of fifo, lifo, codel, deadline", s)
}

// String returns the text that [ParseDiscipline] reads.
func (d Discipline) String() string {
	if d < 0 || int(d) >= len(disciplines) {
		return fmt.Sprintf("Discipline(%d)", int(d))
	}
	return disciplines[d]
}
