package jsmodule

import (
	"fmt"
	"net/http"

	"github.com/grafana/sobek"
)

// maxConnections bounds what a script can ask for.
const maxConnections = 100_000

// pool is a connection pool of a bounded size that all VUs share: what a
// service has, where each VU otherwise has connections of its own. A call that
// finds all of them busy waits for one, and its timeout runs.
type pool struct {
	size      int
	transport *http.Transport
}

// pool returns the pool of the policy of this name, made on its first use as
// the transport of the VU that asks is.
func (m *Module) pool(policy string, size int, like http.RoundTripper) (*pool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p, ok := m.pools[policy]; ok {
		if p.size != size {
			return nil, fmt.Errorf("the pool of policy %q has %d connections already", policy, p.size)
		}
		return p, nil
	}
	transport := new(http.Transport)
	if t, ok := like.(*http.Transport); ok {
		transport = t.Clone()
	}
	transport.MaxConnsPerHost, transport.MaxIdleConnsPerHost, transport.MaxIdleConns = size, size, 0
	p := &pool{size: size, transport: transport}
	m.pools[policy] = p
	return p, nil
}

// poolSize reads the second argument of new Policy: {pool: {maxConnections: n}}.
// 0: there is none.
func (i *Instance) poolSize(options sobek.Value) int {
	if isNothing(options) {
		return 0
	}
	const wanted = "new Policy: its second argument is {pool: {maxConnections: n}}"
	tree, ok := options.Export().(map[string]any)
	if !ok {
		i.typeError("%s; got %s", wanted, describe(options))
	}
	for key := range tree {
		if key != "pool" {
			i.typeError("%s; got the key %q", wanted, key)
		}
	}
	if tree["pool"] == nil {
		return 0
	}
	body, ok := tree["pool"].(map[string]any)
	if !ok || len(body) != 1 {
		i.typeError("%s", wanted)
	}
	size, ok := body["maxConnections"].(int64)
	if !ok || size < 1 || size > maxConnections {
		i.typeError("new Policy: pool.maxConnections: %v is not in 1 … %d", body["maxConnections"], maxConnections)
	}
	return int(size)
}
