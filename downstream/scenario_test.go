package downstream

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/downstream/faults"
)

func TestParseScenario(t *testing.T) {
	sc := scenario(t, "random-failures", map[string]any{"failureRate": "0.5"})
	assert.Equal(t, "random-failures", sc.Name())
	assert.Equal(t, map[string]any{"delay_ms": 120.0, "failure_rate": 0.5}, sc.Params())
	sc.Params()["delay_ms"] = 1
	assert.Equal(t, 120.0, sc.Params()["delay_ms"], "the map is a copy")

	b, err := json.Marshal(scenario(t, "latency-tail-spike", map[string]any{"spike": 1.5}).Params())
	require.NoError(t, err)
	assert.JSONEq(t, `{"delay_ms":90,"every":6,"spike_ms":1.5}`, string(b))
	b, err = json.Marshal(scenario(t, "progressive-degradation", nil).Params())
	require.NoError(t, err)
	assert.JSONEq(t, `{"base_ms":80,"step_ms":3,"max_ms":900,"heal_after_ms":0,"heal_after_calls":0}`, string(b))

	_, err = ParseScenario("latency-tail-spike", map[string]any{"every": "0", "speed": 1})
	assert.EqualError(t, err, `latency-tail-spike.every: "0" is outside 1..1000000000`+"\n"+
		`latency-tail-spike.speed: unknown parameter; known are delay, every, spike`)
	_, err = ParseScenario("outrage", nil)
	assert.EqualError(t, err, `unknown scenario "outrage"; known are `+allNames)

	assert.Empty(t, Scenario{}.Name())
	assert.Nil(t, Scenario{}.Params())
}

func TestScenariosListTheirDefaults(t *testing.T) {
	infos := Scenarios()
	var names []string
	for _, info := range infos {
		names = append(names, info.Name)
		assert.NotEmpty(t, info.Doc)
		assert.NotContains(t, info.Doc, "\n")
		// A listed default, given back as it is listed, changes nothing.
		given := map[string]any{}
		for _, p := range info.Params {
			given[p.Name] = p.Default
			assert.NotEmpty(t, p.Doc)
			assert.NotEmpty(t, p.Range)
			assert.True(t, slices.Contains([]string{"duration", "number", "integer", "choice"}, p.Type), p.Type)
		}
		assert.Equal(t, scenario(t, info.Name, nil).Params(), scenario(t, info.Name, given).Params())
	}
	assert.Equal(t, allNames, strings.Join(names, ", "))
	assert.Equal(t, faults.ParamInfo{
		Name: "delay", Type: "duration", Default: "220ms", Range: "0s..1h", Doc: "service time of a call",
	}, infos[0].Params[0])
}

// Whatever JSON gives, parsing does not panic; what it accepts is what it then reports, and is in range.
func FuzzParseScenario(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"delay":"220ms"}`, `{"delay":1.5,"failureRate":"0.35"}`, `{"base":"1s","step":0,"max":2000}`,
		`{"every":6.0,"spike":"1.5s"}`, `{"every":1e300}`, `{"delay":null,"x":[1]}`, `{"delay":"-1ns"}`, `{"delay":{}}`,
	} {
		for i := range Scenarios() {
			f.Add(uint8(i), seed)
		}
	}
	infos := Scenarios()
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		var given map[string]any
		if json.Unmarshal([]byte(text), &given) != nil {
			t.Skip()
		}
		name := infos[int(which)%len(infos)].Name
		sc, err := ParseScenario(name, given)
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.HasPrefix(line, name+".") {
					t.Errorf("line %q does not begin with a path", line)
				}
			}
			return
		}
		if _, err := json.Marshal(sc.Params()); err != nil {
			t.Error(err)
		}
		for k, v := range sc.Params() {
			if d, ok := v.(float64); ok && (d < 0 || d > float64(time.Hour/ms)) {
				t.Errorf("%s is %v", k, v)
			}
		}
		for _, n := range []uint64{1, 6, 1 << 63} {
			if p := sc.fault.Plan(faults.Call{N: n}); p.Delay < 0 || p.Delay > faults.MaxDelay {
				t.Errorf("call %d: %+v", n, p)
			}
		}
	})
}
