package jsmodule

import (
	"fmt"
	"net/http"
	"sync"
)

// maxConnections bounds what a script can ask for.
const maxConnections = 100_000

// pool is a connection pool of a bounded size that all VUs share: what a
// service has, where each VU otherwise has connections of its own. A call that
// finds all of them busy waits for one, and its timeout runs.
type pool struct {
	size int

	mu        sync.Mutex
	transport *http.Transport // nil before the first call
}

// pool returns the one pool of the policy of this name, or nil where its VUs
// have connections of their own, which is the size 0.
func (m *Module) pool(policy string, size int) (*pool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.pools[policy]
	if !ok {
		if size > 0 {
			p = &pool{size: size}
		}
		m.pools[policy] = p
		return p, nil
	}
	has := 0
	if p != nil {
		has = p.size
	}
	if has != size {
		return nil, fmt.Errorf("the pool of policy %q has %d connections already, not %d (0 is no pool): give this policy another name", policy, has, size)
	}
	return p, nil
}

// like is the pool's transport, which is made for the first call as that of
// the VU that makes it is.
func (p *pool) like(own http.RoundTripper) *http.Transport {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.transport == nil {
		p.transport = new(http.Transport)
		if t, ok := own.(interface{ Clone() *http.Transport }); ok {
			p.transport = t.Clone()
		}
		p.transport.MaxConnsPerHost, p.transport.MaxIdleConnsPerHost, p.transport.MaxIdleConns = p.size, p.size, 0
	}
	return p.transport
}

// close drops the pool's connections. A nil pool has none.
func (p *pool) close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.transport != nil {
		p.transport.CloseIdleConnections()
	}
}

// poolSize reads the option {pool: {maxConnections: n}}.
func (i *Instance) poolSize(what string, option any) int {
	body, ok := option.(map[string]any)
	if !ok {
		i.typeError("%s: pool must be an object {maxConnections}; got %s", what, describe(option))
	}
	for key := range body {
		if key != "maxConnections" {
			i.typeError("%s: pool: unknown key %q; known is maxConnections", what, key)
		}
	}
	size, ok := body["maxConnections"].(int64)
	if !ok {
		i.typeError("%s: pool.maxConnections must be a whole number in 1 … %d; got %s", what, maxConnections, describe(body["maxConnections"]))
	}
	if size < 1 || size > maxConnections {
		i.typeError("%s: pool.maxConnections: %d is not in 1 … %d", what, size, maxConnections)
	}
	return int(size)
}
