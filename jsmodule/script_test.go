package jsmodule_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestScriptsOnAFakeHost runs the cases of testdata on plain sobek. The runner
// has a test that runs the same files, and they are scripts for k6.
func TestScriptsOnAFakeHost(t *testing.T) {
	files, err := filepath.Glob("testdata/*.js")
	require.NoError(t, err)
	passed := 0
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			h := newHost(t, newModule(t))
			log := h.load(t, file)
			assert.Zero(t, h.pending, "init code asked for the event loop")
			promise := h.run(t, `run()`).(*sobek.Promise)
			h.loop(t)
			assert.Equal(t, sobek.PromiseStateFulfilled, promise.State(), "%s", *log)
			require.NotEmpty(t, *log)
			counts := regexp.MustCompile(`(\d+) of (\d+) passed$`).FindStringSubmatch((*log)[len(*log)-1])
			require.NotNil(t, counts, *log)
			n, err := strconv.Atoi(counts[1])
			require.NoError(t, err)
			passed += n
		})
	}
	assert.GreaterOrEqual(t, passed, 60)
	t.Logf("%d cases passed", passed)
}

// load runs the init code of a script, with run as its default function, and
// returns what it will write to the console.
func (h *host) load(t *testing.T, file string) *[]string {
	t.Helper()
	built := api.Build(api.BuildOptions{
		EntryPoints: []string{file}, Bundle: true, Format: api.FormatCommonJS, External: []string{"k6/x/resilience"},
	})
	require.Empty(t, built.Errors)
	exports := h.rt.NewObject()
	for _, name := range []string{"Policy", "Downstream", "policies", "scenarios"} {
		require.NoError(t, exports.Set(name, h.rt.Get(name)))
		require.NoError(t, h.rt.GlobalObject().Delete(name))
	}
	log := new([]string)
	write := func(c sobek.FunctionCall) sobek.Value {
		*log = append(*log, c.Argument(0).String())
		return sobek.Undefined()
	}
	for name, value := range map[string]any{
		"require": func(name string) (*sobek.Object, error) {
			if name != "k6/x/resilience" {
				return nil, fmt.Errorf("no module %q", name)
			}
			return exports, nil
		},
		"module":  h.rt.NewObject(),
		"console": map[string]any{"log": write, "error": write},
	} {
		require.NoError(t, h.rt.Set(name, value))
	}
	h.init, h.log.Level = true, logrus.PanicLevel
	_, err := h.rt.RunScript(file, string(built.OutputFiles[0].Contents)+";\nvar run = module.exports.default;")
	require.NoError(t, err)
	h.init = false
	return log
}
