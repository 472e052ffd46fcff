package metrics

import (
	"sort"
	"strings"
	"sync"
)

// Tag is a key and its value.
type Tag struct{ Key, Value string }

// TagSet is an immutable set of tags. Within a registry equal sets are the
// same pointer, so that they compare with ==. It is safe for concurrent use.
type TagSet struct {
	tags  []Tag // by key
	table *tagTable

	mu   sync.RWMutex
	next map[Tag]*TagSet
}

// tagTable holds every set of a registry by its canonical text.
type tagTable struct {
	mu   sync.Mutex
	sets map[string]*TagSet
}

func (t *tagTable) intern(tags []Tag) *TagSet {
	var b strings.Builder
	for _, tag := range tags {
		b.WriteString(tag.Key)
		b.WriteByte(0)
		b.WriteString(tag.Value)
		b.WriteByte(0)
	}
	key := b.String()
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, ok := t.sets[key]; ok {
		return s
	}
	if t.sets == nil {
		t.sets = make(map[string]*TagSet)
	}
	s := &TagSet{tags: tags, table: t}
	t.sets[key] = s
	return s
}

// TagSets is how many different sets of tags there have been. None is forgotten.
func (r *Registry) TagSets() int {
	r.tags.mu.Lock()
	defer r.tags.mu.Unlock()
	return len(r.tags.sets)
}

// With is the set with this tag added or replaced.
func (s *TagSet) With(key, value string) *TagSet {
	tag := Tag{Key: key, Value: value}
	s.mu.RLock()
	next, ok := s.next[tag]
	s.mu.RUnlock()
	if ok {
		return next
	}
	i := sort.Search(len(s.tags), func(i int) bool { return s.tags[i].Key >= key })
	tags := make([]Tag, 0, len(s.tags)+1)
	tags = append(tags, s.tags[:i]...)
	tags = append(tags, tag)
	if i < len(s.tags) && s.tags[i].Key == key {
		i++
	}
	tags = append(tags, s.tags[i:]...)
	next = s.table.intern(tags)
	s.mu.Lock()
	if s.next == nil {
		s.next = make(map[Tag]*TagSet)
	}
	s.next[tag] = next
	s.mu.Unlock()
	return next
}

// Without is the set with the tag of this key taken out.
func (s *TagSet) Without(key string) *TagSet {
	if _, ok := s.Get(key); !ok {
		return s
	}
	tags := make([]Tag, 0, len(s.tags))
	for _, t := range s.tags {
		if t.Key != key {
			tags = append(tags, t)
		}
	}
	return s.table.intern(tags)
}

// Get is the value of a tag, and whether the set has it.
func (s *TagSet) Get(key string) (string, bool) {
	for i := range s.tags {
		if s.tags[i].Key == key {
			return s.tags[i].Value, true
		}
	}
	return "", false
}

// Includes says whether the set has all of these tags with these values.
func (s *TagSet) Includes(tags []Tag) bool {
	for _, want := range tags {
		if got, ok := s.Get(want.Key); !ok || got != want.Value {
			return false
		}
	}
	return true
}

// Tags returns a copy of the set's tags, by key.
func (s *TagSet) Tags() []Tag { return append([]Tag(nil), s.tags...) }
