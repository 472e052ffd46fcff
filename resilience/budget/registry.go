package budget

import (
	"fmt"
	"sync"
)

// Registry holds the budgets that have a name, so that several policies share
// them. The zero value is empty. It may be used by many goroutines at once.
type Registry struct {
	mu    sync.Mutex
	named map[string]entry
}

type entry struct {
	config Config
	budget Budget
}

// Get returns the budget that c names, made when it is asked for first; one
// without a name is always new. It fails where c is not valid, and where the
// name stands for a budget with other settings.
func (r *Registry) Get(c Config) (Budget, error) {
	if c.Name == "" {
		return New(c)
	}
	c = c.essence()
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := r.named[c.Name]; ok {
		if e.config != c {
			return nil, fmt.Errorf("budget %q is in use with other settings", c.Name)
		}
		return e.budget, nil
	}
	b, err := New(c)
	if err != nil {
		return nil, err
	}
	if r.named == nil {
		r.named = make(map[string]entry)
	}
	r.named[c.Name] = entry{config: c, budget: b}
	return b, nil
}
