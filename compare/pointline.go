package compare

import (
	"bytes"
	"strconv"
	"time"
)

// point is a line of a sample in the form in which k6 and the built-in runner
// write it, taken apart.
type point struct {
	metric, time []byte
	value        float64
	tags         []byte // JSON of the tags and of what follows them in "data"
}

// cutPoint takes a line apart. It is false of any line that is not in the usual
// form or could mean another thing than it seems to, which a real JSON parser
// must look at. What it does not look at is in tags, which must be known
// already, byte by byte.
func cutPoint(line []byte) (p point, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"metric":"`))
	if !ok {
		return p, false
	}
	if p.metric, rest, ok = plainText(rest); !ok {
		return p, false
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(`,"type":"Point","data":{"time":"`)); !ok {
		return p, false
	}
	if p.time, rest, ok = plainText(rest); !ok {
		return p, false
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(`,"value":`)); !ok {
		return p, false
	}
	if p.value, rest, ok = plainNumber(rest); !ok {
		return p, false
	}
	if p.tags, ok = bytes.CutPrefix(rest, []byte(`,"tags":`)); !ok {
		return p, false
	}
	return p, true
}

// plainText cuts a text without escapes and its closing quote off.
func plainText(b []byte) (text, rest []byte, ok bool) {
	end := bytes.IndexByte(b, '"')
	if end < 0 {
		return nil, nil, false
	}
	for _, c := range b[:end] {
		if c == '\\' || c < ' ' || c >= 0x7f {
			return nil, nil, false
		}
	}
	return b[:end], b[end+1:], true
}

// plainNumber cuts a decimal number without an exponent off. Up to 15 digits it
// is the quotient of two integers that a float64 holds, and so rounded once, as
// it must be.
func plainNumber(b []byte) (v float64, rest []byte, ok bool) {
	i := 0
	if len(b) > 0 && b[0] == '-' {
		i = 1
	}
	begin, dot, digits := i, -1, uint64(0)
	for ; i < len(b) && i < maxNumber; i++ {
		c := b[i]
		if c == '.' && dot < 0 {
			dot = i
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		digits = digits*10 + uint64(c-'0') // of more than 15 digits not used
	}
	whole, decimals := i-begin, 0
	if dot >= 0 {
		whole, decimals = dot-begin, i-dot-1
	}
	if whole == 0 || dot == i-1 || (whole > 1 && b[begin] == '0') || i == len(b) || b[i] != ',' {
		return 0, nil, false
	}
	if whole+decimals > 15 {
		v, err := strconv.ParseFloat(string(b[:i]), 64)
		return v, b[i:], err == nil
	}
	v = float64(digits) / [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14}[decimals]
	if begin == 1 {
		v = -v
	}
	return v, b[i:], true
}

// maxNumber is the length of the longest number that is read fast.
const maxNumber = 32

// clock reads times, and remembers the second that it read last: samples come in
// the order of time, nearly.
type clock struct {
	second [len("2006-01-02T15:04:05")]byte
	zone   [len("+00:00")]byte
	offset int // length of zone
	unix   int64
}

// read is the time in nanoseconds since 1970.
func (c *clock) read(text []byte) (int64, bool) {
	n := len(c.second)
	if len(text) < n {
		return 0, false
	}
	rest, nanos := text[n:], int64(0)
	if len(rest) > 0 && rest[0] == '.' {
		i := 1
		for ; i < len(rest) && rest[i] >= '0' && rest[i] <= '9' && i <= 9; i++ {
			nanos = nanos*10 + int64(rest[i]-'0')
		}
		if i == 1 {
			return 0, false
		}
		for digits := i - 1; digits < 9; digits++ {
			nanos *= 10
		}
		rest = rest[i:]
	}
	if len(rest) > len(c.zone) {
		return 0, false
	}
	if c.offset == 0 || !bytes.Equal(text[:n], c.second[:]) || !bytes.Equal(rest, c.zone[:c.offset]) {
		at, err := time.Parse(time.RFC3339, string(text[:n])+string(rest))
		if err != nil || at.Year() < 1970 || at.Year() > 2200 {
			return 0, false
		}
		copy(c.second[:], text)
		c.offset, c.unix = copy(c.zone[:], rest), at.Unix()
	}
	return c.unix*int64(time.Second) + nanos, true
}
