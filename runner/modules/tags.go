package modules

import (
	"fmt"

	"github.com/grafana/sobek"

	"github.com/retrylab/retrylab/runner/metrics"
)

// AddTags is base with the tags of a JS object: `{key: value}`, where the
// values are text, numbers or booleans. Nullish adds nothing.
func AddTags(rt *sobek.Runtime, base *metrics.TagSet, v sobek.Value) (*metrics.TagSet, error) {
	if IsNullish(v) {
		return base, nil
	}
	o, ok := v.(*sobek.Object)
	if !ok {
		return nil, fmt.Errorf("tags: want an object of text, numbers or booleans, not %q", v.String())
	}
	for _, key := range o.Keys() {
		val := o.Get(key)
		if _, isObject := val.(*sobek.Object); isObject || IsNullish(val) {
			return nil, fmt.Errorf("tags: the value of %q is %q, want text, a number or a boolean", key, val.String())
		}
		base = base.With(key, val.String())
	}
	return base, nil
}
