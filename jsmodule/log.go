package jsmodule

import (
	"fmt"
	"time"

	"github.com/retrylab/retrylab/resilience"
	"github.com/retrylab/retrylab/resilience/breaker"
	"github.com/sirupsen/logrus"
)

// requestLog writes a line for each retry of one request, and for each change
// of a breaker's state that it causes.
type requestLog struct {
	to      logrus.FieldLogger
	policy  string
	retries logrus.Level
	on      bool  // retries are logged
	told    bool  // the next retry was announced, with the wait before it
	last    error // why the last attempt failed
}

func (p *jsPolicy) newLog() requestLog {
	l := requestLog{to: p.instance.host.Logger(), policy: p.policy.Name(), retries: logrus.DebugLevel}
	if p.logRetries {
		l.retries = logrus.InfoLevel
	}
	switch to := l.to.(type) {
	case *logrus.Logger:
		l.on = to.IsLevelEnabled(l.retries)
	case *logrus.Entry:
		l.on = to.Logger.IsLevelEnabled(l.retries)
	default:
		l.on = true
	}
	return l
}

// observe logs the retries, each before it is made.
func (l *requestLog) observe(e resilience.Event) {
	if !l.on {
		return
	}
	switch e.Kind {
	case resilience.AttemptEnded:
		l.last = e.Err
	case resilience.Waiting:
		l.told = true
		l.retry(e.Attempt, fmt.Sprintf("in %v", e.Duration.Round(time.Millisecond)), e.Err)
	case resilience.AttemptStarted, resilience.Rejected:
		if e.AttemptKind == resilience.Retry && !l.told {
			l.retry(e.Attempt-1, "at once", l.last)
		}
		l.told = false
		if e.Kind == resilience.Rejected {
			l.last = e.Err
		}
	}
}

// retry logs the n-th retry of a request.
func (l *requestLog) retry(n int, when string, cause error) {
	line := fmt.Sprintf("retry %d %s: %v", n, when, cause)
	if to := l.to.WithField("policy", l.policy); l.retries == logrus.InfoLevel {
		to.Info(line)
	} else {
		to.Debug(line)
	}
}

// changed logs a change of a breaker. It may be called on any goroutine.
func (l *requestLog) changed(e resilience.Event) {
	line := fmt.Sprintf("breaker: %v -> %v", e.From, e.To)
	if to := l.to.WithField("policy", l.policy); e.To == breaker.Open || e.To == breaker.ForcedOpen {
		to.Warn(line)
	} else {
		to.Info(line)
	}
}
