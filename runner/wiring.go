package runner

import (
	"github.com/retrylab/retrylab/jsmodule"
	"github.com/retrylab/retrylab/runner/modules"
	"github.com/retrylab/retrylab/runner/modules/k6"
	"github.com/retrylab/retrylab/runner/modules/k6crypto"
	"github.com/retrylab/retrylab/runner/modules/k6data"
	"github.com/retrylab/retrylab/runner/modules/k6encoding"
	"github.com/retrylab/retrylab/runner/modules/k6execution"
	"github.com/retrylab/retrylab/runner/modules/k6http"
	"github.com/retrylab/retrylab/runner/modules/k6metrics"
	"github.com/retrylab/retrylab/runner/modules/k6summary"
	"github.com/retrylab/retrylab/runner/modules/k6timers"
	"github.com/retrylab/retrylab/runner/vu"
)

// builtinModules are the modules of one run by import path, and what closes
// them when the run is over.
func builtinModules(resilience *jsmodule.Module) (map[string]modules.Factory, func() error) {
	if resilience == nil {
		resilience = jsmodule.New(nil)
	}
	return map[string]modules.Factory{
		"k6":           k6.New,
		"k6/crypto":    k6crypto.New,
		"k6/data":      k6data.New(),
		"k6/encoding":  k6encoding.New,
		"k6/execution": k6execution.New,
		"k6/http":      k6http.New,
		"k6/metrics":   k6metrics.New,
		"k6/timers":    k6timers.New,

		k6summary.ImportPath: k6summary.New,
		jsmodule.ImportPath: func(v modules.VU) (modules.Exports, error) {
			instance, err := resilience.NewInstance(vu.NewHost(v))
			if err != nil {
				return modules.Exports{}, err
			}
			return modules.Exports{Named: instance.Exports()}, nil
		},
	}, resilience.Close
}
