package downstream

import "fmt"

// Cancellation says what the server does about a call whose client has gone.
type Cancellation int

const (
	// Ignore works on to the end, as most servers do: the call stays in flight and its work becomes
	// residual. It is the zero value and the default.
	Ignore Cancellation = iota
	// AtDequeue drops the call if the client has gone by the time service begins: when its turn comes, if
	// the scenario has a queue, and otherwise as soon as the request body has been read. Later it ignores it.
	AtDequeue
	// MidWork drops the call as soon as the client is seen to be gone, in the queue and during service; its
	// server is free at once.
	MidWork
)

// ParseCancellation returns the Cancellation written as "ignore", "at-dequeue" or "mid-work".
func ParseCancellation(s string) (Cancellation, error) {
	for c := Ignore; c <= MidWork; c++ {
		if s == c.String() {
			return c, nil
		}
	}
	return 0, fmt.Errorf("cancellation %q is none of ignore, at-dequeue, mid-work", s)
}

// String returns the text that [ParseCancellation] reads.
func (c Cancellation) String() string {
	switch c {
	case Ignore:
		return "ignore"
	case AtDequeue:
		return "at-dequeue"
	case MidWork:
		return "mid-work"
	}
	return fmt.Sprintf("Cancellation(%d)", int(c))
}

// MarshalText implements [encoding.TextMarshaler]. It fails for values that are none of the constants.
func (c Cancellation) MarshalText() ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	return []byte(c.String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler] as [ParseCancellation].
func (c *Cancellation) UnmarshalText(text []byte) error {
	v, err := ParseCancellation(string(text))
	if err == nil {
		*c = v
	}
	return err
}

func (c Cancellation) check() error {
	_, err := ParseCancellation(c.String())
	return err
}
