package vu

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHostnames(t *testing.T) {
	of := make(map[string]string)
	for _, name := range []string{"a.test", "Upper.test", "*.wide.test", "one.wide.test", "*glued.test", "port.test:443", "*.deep.wide.test"} {
		of[name] = name
	}
	h, err := NewHostnames(of)
	require.NoError(t, err)
	for name, want := range map[string]string{
		"a.test": "a.test", "A.TEST": "a.test", "b.a.test": "", "upper.test": "Upper.test",
		"x.wide.test": "*.wide.test", "one.wide.test": "one.wide.test", "x.one.wide.test": "*.wide.test", "wide.test": "", "x.deep.wide.test": "*.deep.wide.test",
		"glued.test": "*glued.test", "preglued.test": "*glued.test", "port.test": "", "port.test:443": "port.test:443", "port.test:80": "", "": "",
	} {
		got, ok := h.Find(name)
		assert.Equal(t, want, got, name)
		assert.Equal(t, want != "", ok, name)
	}
	var none Hostnames[int]
	_, ok := none.Find("a")
	assert.False(t, ok)
	for _, bad := range []string{"", "a*b.test", "a..b", "-a.test", "a b", "a:x", "**"} {
		_, err := NewHostnames(map[string]int{bad: 1})
		assert.Error(t, err, bad)
	}
}
