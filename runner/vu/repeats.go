package vu

import (
	"fmt"
	"sync"

	"github.com/sirupsen/logrus"
)

// Repeats logs each distinct message once and counts the rest. It is safe for
// concurrent use.
type Repeats struct {
	log  logrus.FieldLogger
	mu   sync.Mutex
	seen map[string]*repeat
	list []*repeat
	more int // distinct messages beyond the bound
}

type repeat struct {
	head  string
	level logrus.Level
	n     int
}

const mostRepeats = 200

// NewRepeats returns a Repeats that writes to log.
func NewRepeats(log logrus.FieldLogger) *Repeats {
	return &Repeats{log: log, seen: make(map[string]*repeat)}
}

// Error logs an error; message says what happened, text what went wrong and
// is what makes it distinct.
func (r *Repeats) Error(text, message string) {
	r.add(text, message+": "+text, logrus.ErrorLevel)
}

// Warn logs a warning; key is what makes it distinct.
func (r *Repeats) Warn(key, message string) { r.add(key, message, logrus.WarnLevel) }

func (r *Repeats) add(key, message string, level logrus.Level) {
	r.mu.Lock()
	e, ok := r.seen[key]
	if ok {
		e.n++
		r.mu.Unlock()
		return
	}
	if len(r.list) >= mostRepeats {
		r.more++
		r.mu.Unlock()
		return
	}
	e = &repeat{head: firstLine(message), level: level, n: 1}
	r.seen[key] = e
	r.list = append(r.list, e)
	r.mu.Unlock()
	write(r.log, level, message)
}

// Flush says how often the messages came that came more than once, and forgets
// all of them.
func (r *Repeats) Flush() {
	r.mu.Lock()
	list, more := r.list, r.more
	r.list, r.more, r.seen = nil, 0, make(map[string]*repeat)
	r.mu.Unlock()
	for _, e := range list {
		if e.n > 1 {
			write(r.log, e.level, fmt.Sprintf("%s (×%d)", e.head, e.n))
		}
	}
	if more > 0 {
		r.log.Warnf("%d more messages, all different, were not logged", more)
	}
}

func write(log logrus.FieldLogger, level logrus.Level, message string) {
	if level == logrus.ErrorLevel {
		log.Error(message)
		return
	}
	log.Warn(message)
}

func firstLine(s string) string {
	for i := range len(s) {
		if s[i] == '\n' {
			return s[:i]
		}
	}
	return s
}
