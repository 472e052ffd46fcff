package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// object is a JSON object with its members in order. A name that is there twice
// is an error: which of the two was meant cannot be told.
type object []member

type member struct {
	name  string
	value json.RawMessage
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *object) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	if len(data) == 0 || data[0] != '{' {
		return fmt.Errorf("%s where an object belongs", excerpt(data))
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if _, err := dec.Token(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if seen[name] {
			return fmt.Errorf("the key %s is there twice", quoted(name))
		}
		seen[name] = true
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		*o = append(*o, member{name, value})
	}
	_, err := dec.Token()
	return err
}

// get returns the value of a name, nil if it is not there.
func (o object) get(name string) json.RawMessage {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// text returns the string of a name, empty if there is none.
func (o object) text(name string) string {
	var s string
	if json.Unmarshal(o.get(name), &s) != nil {
		return ""
	}
	return s
}

// numbers reads all members but those named as numbers; null is no number and
// left out.
func (o object) numbers(but ...string) (map[string]float64, error) {
	out := make(map[string]float64, len(o))
members:
	for _, m := range o {
		for _, name := range but {
			if m.name == name {
				continue members
			}
		}
		var v *float64
		if err := json.Unmarshal(m.value, &v); err != nil {
			return nil, fmt.Errorf("%s is no number: %s", m.name, excerpt(m.value))
		}
		if v != nil {
			out[m.name] = *v
		}
	}
	return out, nil
}

// excerpt is the beginning of a JSON value, for an error.
func excerpt(data []byte) string {
	const most = 40
	if len(data) > most {
		return fmt.Sprintf("%q…", data[:most])
	}
	return fmt.Sprintf("%q", data)
}

// quoted is a name of the file's, for an error.
func quoted(name string) string { return excerpt([]byte(name)) }
