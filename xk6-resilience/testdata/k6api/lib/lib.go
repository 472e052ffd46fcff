// Package lib is the state of a test and of its VUs.
package lib

import (
	"net/http"
	"sync"

	"github.com/sirupsen/logrus"
	"go.k6.io/k6/v2/metrics"
)

// TestPreInitState is there before any VU is.
type TestPreInitState struct {
	Registry *metrics.Registry
	Logger   logrus.FieldLogger
}

// State is that of a VU which runs.
type State struct {
	Logger    logrus.FieldLogger
	Transport http.RoundTripper
	Samples   chan<- metrics.SampleContainer
	VUID      uint64
	Tags      *VUStateTags
}

// VUStateTags are the tags of a VU. They may be used by many goroutines at once.
type VUStateTags struct {
	mu      sync.Mutex
	current metrics.TagsAndMeta
}

// NewVUStateTags begins with these tags.
func NewVUStateTags(tags *metrics.TagSet) *VUStateTags {
	return &VUStateTags{current: metrics.TagsAndMeta{Tags: tags}}
}

// GetCurrentValues is a copy of the tags as they are.
func (t *VUStateTags) GetCurrentValues() metrics.TagsAndMeta {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.current.Clone()
}

// Modify changes the tags.
func (t *VUStateTags) Modify(change func(*metrics.TagsAndMeta)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.current)
}
