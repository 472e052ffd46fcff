package jsmodule

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grafana/sobek"
	"github.com/retrylab/retrylab/downstream"
	"github.com/retrylab/retrylab/resilience"
	"github.com/retrylab/retrylab/resilience/budget"
	"github.com/retrylab/retrylab/resilience/catalog"
	"github.com/retrylab/retrylab/service"
)

// ImportPath is the name under which scripts import the module.
const ImportPath = "k6/x/resilience"

// drainTime is how long Close lets the servers' calls in progress go on: they
// may be the leftovers of callers that gave up, of which nobody waits for the end.
const drainTime = 100 * time.Millisecond

// Module is what all VUs of a process share: the policies by name, and the
// servers that scripts started. It may be used by many goroutines at once.
type Module struct {
	run      uint64        // makes request ids of this process distinct from another's
	requests atomic.Uint64 // and this one those of all its policies
	catalog  *catalog.Catalog

	mu       sync.Mutex
	policies map[string]*resilience.Policy
	servers  map[string]*server
	pools    map[string]*pool // by the policy's name; nil: that policy has none
	budgets  budget.Registry  // of the policies that all VUs share
}

// server is a downstream that runs inside the process.
type server struct {
	config   downstream.Config
	tiers    []service.Tier
	listener *downstream.Listener
	chain    *service.Chain // nil: it has no tiers
}

// url is the address that calls go to.
func (s *server) url() string {
	if s.chain != nil {
		return s.chain.URL()
	}
	return s.listener.URL()
}

// close ends the server, and first the tiers in front of it.
func (s *server) close(ctx context.Context) error {
	var ended error
	if s.chain != nil {
		ended = s.chain.Close(ctx)
	}
	return errors.Join(ended, s.listener.Close(ctx))
}

// New returns a module with no policy and no server in it. Scripts find the
// policies of c by their names; nil is the built-in ones.
func New(c *catalog.Catalog) *Module {
	if c == nil {
		c = catalog.Builtin()
	}
	return &Module{
		run:      rand.Uint64(),
		catalog:  c,
		policies: make(map[string]*resilience.Policy),
		servers:  make(map[string]*server),
		pools:    make(map[string]*pool),
	}
}

// Close stops the servers that scripts have started. Work that they still do
// is cut off.
func (m *Module) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	var errs []error
	for name, s := range m.servers {
		if err := s.close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			errs = append(errs, err)
		}
		delete(m.servers, name)
	}
	for _, p := range m.pools {
		p.close()
	}
	return errors.Join(errs...)
}

// policy returns the one policy of this name that all VUs share.
func (m *Module) policy(c resilience.Config) (*resilience.Policy, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p, ok := m.policies[c.Name]; ok {
		if !reflect.DeepEqual(p.Config(), c) {
			return nil, fmt.Errorf("policy %q is in use with other guards: give this one another name", c.Name)
		}
		return p, nil
	}
	p, err := resilience.New(c, resilience.WithBudgets(&m.budgets))
	if err != nil {
		return nil, err
	}
	m.policies[c.Name] = p
	return p, nil
}

// errInUse says that a downstream's name stands for another one.
var errInUse = errors.New("runs with another scenario or other tiers: give this one another name")

// serve returns the address of the server of this name, which is started on its
// first use.
func (m *Module) serve(name string, c downstream.Config, tiers []service.Tier) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, ok := m.servers[name]; ok {
		if !reflect.DeepEqual(s.config, c) || !reflect.DeepEqual(s.tiers, tiers) {
			return "", fmt.Errorf("downstream %q %w", name, errInUse)
		}
		return s.url(), nil
	}
	l, err := downstream.Listen("127.0.0.1:0", c)
	if err != nil {
		return "", err
	}
	s := &server{config: c, tiers: tiers, listener: l}
	if len(tiers) > 0 {
		if s.chain, err = service.StartChain(service.ChainConfig{Tiers: tiers, Next: l.URL()}); err != nil {
			return "", errors.Join(err, s.close(context.Background())) // nothing is in progress
		}
	}
	m.servers[name] = s
	return s.url(), nil
}

// Instance is the module as one VU imports it.
type Instance struct {
	module      *Module
	host        Host
	metrics     metricSet
	errorClass  *sobek.Object
	parseJSON   sobek.Callable
	promiseThen sobek.Callable  // the runtime's own, whatever a script does to a promise
	budgets     budget.Registry // of the policies whose scope is the VU
}

// NewInstance registers the module's metrics with the host. It must be called
// in the VU's init context.
func (m *Module) NewInstance(h Host) (*Instance, error) {
	metrics, err := register(h)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ImportPath, err)
	}
	rt := h.Runtime()
	parse, _ := sobek.AssertFunction(rt.Get("JSON").ToObject(rt).Get("parse"))
	then, _ := sobek.AssertFunction(rt.Get("Promise").ToObject(rt).Get("prototype").ToObject(rt).Get("then"))
	return &Instance{
		module: m, host: h, metrics: metrics,
		errorClass: rt.Get("Error").ToObject(rt), parseJSON: parse, promiseThen: then,
	}, nil
}

// parse makes a value of the VU's own runtime of valid JSON.
func (i *Instance) parse(data []byte) sobek.Value {
	value, err := i.parseJSON(sobek.Undefined(), i.host.Runtime().ToValue(string(data)))
	if err != nil {
		panic(err)
	}
	return value
}

// Exports are the named exports of the module: Policy, Downstream, policies
// and scenarios.
func (i *Instance) Exports() map[string]any {
	return map[string]any{
		"Policy":     i.policyClass(),
		"Downstream": i.class("Downstream", i.newDownstream),
		"policies":   i.listPolicies,
		"scenarios":  i.listScenarios,
	}
}

// class makes a constructor that is known by this name.
func (i *Instance) class(name string, construct func(sobek.ConstructorCall) *sobek.Object) *sobek.Object {
	rt := i.host.Runtime()
	class := rt.ToValue(construct).ToObject(rt)
	if err := class.DefineDataProperty("name", rt.ToValue(name), sobek.FLAG_FALSE, sobek.FLAG_TRUE, sobek.FLAG_FALSE); err != nil {
		panic(err)
	}
	return class
}

// constructor checks how many arguments a constructor got, and returns the
// first.
func (i *Instance) constructor(name string, call sobek.ConstructorCall, most int, wanted string) sobek.Value {
	if n := len(call.Arguments); n < 1 || n > most {
		i.typeError("new %s takes %s; got %d arguments", name, wanted, n)
	}
	return call.Arguments[0]
}

// define sets a property that a script can read and not write.
func define(rt *sobek.Runtime, o *sobek.Object, name string, value any) {
	if err := o.DefineDataProperty(name, rt.ToValue(value), sobek.FLAG_FALSE, sobek.FLAG_FALSE, sobek.FLAG_TRUE); err != nil {
		panic(err)
	}
}

// set sets a property of an object that this module made, which cannot fail.
func set(o *sobek.Object, name string, value any) {
	if err := o.Set(name, value); err != nil {
		panic(err)
	}
}
