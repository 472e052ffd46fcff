package downstream

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func phases(t testing.TB, texts ...string) []Phase {
	t.Helper()
	var ps []Phase
	for _, text := range texts {
		p, err := ParsePhase(text)
		require.NoError(t, err)
		ps = append(ps, p)
	}
	return ps
}

func TestTimeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := fixed(t, 10*ms)
		cfg.Timeline = phases(t, "20s latency-tail-spike every=1", "10s outage for 5s", "30s progressive-degradation healAfter=2s")
		s := newServer(t, cfg)
		begin := time.Now()
		probe := func(at time.Duration) served {
			time.Sleep(at - time.Since(begin))
			got := volley(t, s, 1, nil)[0]
			got.call = 0
			return got
		}
		assert.Equal(t, served{200, 0, 10 * ms}, probe(0))
		assert.Equal(t, served{503, 0, 0}, probe(10*time.Second))
		assert.Equal(t, served{503, 0, 0}, probe(15*time.Second-1))
		assert.Equal(t, served{200, 0, 10 * ms}, probe(15*time.Second))
		assert.Equal(t, served{200, 0, 650 * ms}, probe(20*time.Second))
		assert.Equal(t, served{200, 0, 650 * ms}, probe(29*time.Second), "without for it lasts until the next")
		assert.Equal(t, served{200, 0, 101 * ms}, probe(30*time.Second), "the calls are counted on: it is the 7th")
		assert.Equal(t, served{200, 0, 80 * ms}, probe(32*time.Second), "the age counts from the phase's begin")
		assert.Equal(t, served{200, 0, 80 * ms}, probe(time.Hour))

		s.Reset()
		begin = time.Now()
		assert.Equal(t, served{200, 0, 10 * ms}, probe(0), "a reset begins the timeline anew")
		assert.Equal(t, served{503, 0, 0}, probe(10*time.Second))
	})
}

// A stall keeps the calls of the base scenario, in its queue and within its limit.
func TestTimelineStallsTheBaseScenario(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := constant(t, map[string]any{"servers": 1, "queue": 2})
		cfg.Timeline = phases(t, "1s outage mode=stall for 500ms")
		s := newServer(t, cfg)
		time.Sleep(990 * ms)
		got := volley(t, s, 3, nil)
		assert.Equal(t, []served{{200, 1, 20 * ms}, {200, 2, 530 * ms}, {200, 3, 550 * ms}}, got,
			"what is being served is finished, what waits is kept")

		s.Reset()
		time.Sleep(1100 * ms)
		got = volley(t, s, 4, nil)
		assert.Equal(t, []served{{200, 1, 420 * ms}, {200, 2, 440 * ms}, {200, 3, 460 * ms}, {503, 4, 0}}, got)

		cfg = fixed(t, 10*ms)
		cfg.Timeline = phases(t, "0s outage mode=stall for 1s")
		s = newServer(t, cfg)
		assert.Equal(t, []served{{200, 1, 1010 * ms}, {200, 2, 1010 * ms}}, volley(t, s, 2, nil), "also without a queue")
	})
}

func TestParsePhase(t *testing.T) {
	p := phases(t, "10s outage mode=hang servers=3 for 5s")[0]
	assert.Equal(t, 10*time.Second, p.At)
	assert.Equal(t, 5*time.Second, p.For)
	assert.Equal(t, "hang", p.Scenario.Params()["mode"])
	assert.Equal(t, "10s outage mode=hang servers=3 for 5s", p.String())
	assert.Equal(t, p, phases(t, p.String())[0])
	assert.Equal(t, "1.5s fixed-delay", phases(t, "1500 fixed-delay delay=220ms")[0].String(), "defaults are left out")

	const form = ": want WHEN SCENARIO [NAME=VALUE]... [for HOW-LONG], as in 10s outage mode=hang for 5s"
	for text, want := range map[string]string{
		"":                      `"" is no phase` + form,
		"10s":                   `"10s" is no phase` + form,
		"10s outage for":        `"10s outage for" is no phase: one duration and no more follows for` + form,
		"10s outage for 5s x=1": `"10s outage for 5s x=1" is no phase: one duration and no more follows for` + form,
		"10s outage hang":       `"10s outage hang" is no phase: "hang" is not NAME=VALUE` + form,
		"soon outage mode=x for 2h": `outage.mode: "x" is none of refuse, reset, 503, hang, stall` + "\n" +
			`phase.at: "soon" is not a duration: want text such as "220ms" or "1.5s", or a number of milliseconds` + "\n" +
			`phase.for: "2h" is outside 0s..1h`,
		"1s outrage": `unknown scenario "outrage"; known are ` + allNames,
	} {
		_, err := ParsePhase(text)
		assert.EqualError(t, err, want)
	}
}

func TestTimelineThatCannotBe(t *testing.T) {
	cfg := fixed(t, 0)
	cfg.Timeline = phases(t, "12s gray", "10s outage for 5s", "12s bursty")
	_, err := New(cfg)
	assert.EqualError(t, err, `timeline: "12s gray" begins before "10s outage for 5s" is over`+"\n"+
		`timeline: "12s bursty" begins before "12s gray" is over`)
	cfg.Timeline = []Phase{{}, {At: -1, For: 2 * time.Hour, Scenario: cfg.Scenario}}
	_, err = New(cfg)
	assert.EqualError(t, err, "timeline[0]: no scenario given; known are "+allNames+"\n"+
		`timeline[1]: at "-1ns" is outside 0s..1h`+"\n"+`timeline[1]: for "2h0m0s" is outside 0s..1h`)
}

func TestParseConfig(t *testing.T) {
	base := fixed(t, 7*ms)
	base.Seed = 9
	c, err := ParseConfig([]byte(`{"scenario":"overload","params":{"servers":4},"seed":18446744073709551615,"cancellation":"mid-work",
		"timeline":["10s outage for 5s",{"at":"30s","for":1000,"scenario":"gray","params":{"instances":2}}],"token":"t"}`), base)
	require.NoError(t, err)
	assert.Equal(t, "overload servers=4", c.Scenario.String())
	assert.EqualValues(t, uint64(18446744073709551615), c.Seed)
	assert.Equal(t, MidWork, c.Cancellation)
	assert.Equal(t, "t", c.Token)
	b, err := json.Marshal(c.Timeline)
	require.NoError(t, err)
	assert.JSONEq(t, `["10s outage for 5s","30s gray instances=2 for 1s"]`, string(b))

	c, err = ParseConfig([]byte(`{"seed":null,"params":{"delay":1}}`), base)
	require.NoError(t, err)
	assert.EqualValues(t, 9, c.Seed)
	assert.Equal(t, "fixed-delay delay=1ms", c.Scenario.String())

	base.Timeline = phases(t, "1s gray")
	c, err = ParseConfig([]byte(`{"timeline":["2s bursty"]}`), base)
	require.NoError(t, err)
	assert.Equal(t, phases(t, "2s bursty"), c.Timeline, "a timeline replaces the other")
	c, err = ParseConfig([]byte(`{}`), base)
	require.NoError(t, err)
	assert.Equal(t, base.Timeline, c.Timeline)

	for text, want := range map[string]string{
		"":               "not a JSON object: EOF",
		"null":           "not a JSON object: null",
		"[]":             "not a JSON object: json: cannot unmarshal array into Go value of type map[string]interface {}",
		"{} {}":          "not a JSON object: more follows its end",
		`{"timeline":1}`: "timeline: must be a list",
		`{"scenario":"gray","params":{"instances":0,"x":1},"seed":-1,"cancellation":"no","timeline":["x",5,{"for":"1s","colour":1}],"token":1,"speed":2}`: `gray.instances: "0" is outside 1..100000
gray.x: unknown parameter; known are instances, delay, badDelay, badFailureRate
cancellation "no" is none of ignore, at-dequeue, mid-work
token: must be a text
seed: "-1" is not a whole number from 0 to 18446744073709551615
timeline[0]: "x" is no phase: want WHEN SCENARIO [NAME=VALUE]... [for HOW-LONG], as in 10s outage mode=hang for 5s
timeline[1]: must be a text or an object
timeline[2]: phase.at: none given
phase.scenario: none given as text; known are ` + allNames + `
phase: unknown key "colour"; known are at, for, scenario, params
unknown key "speed"; known are scenario, params, seed, cancellation, timeline, token`,
	} {
		_, err := ParseConfig([]byte(text), base)
		assert.EqualError(t, err, want)
	}
}

// Whatever comes, reading it does not panic, and what is accepted can be written and read again.
func FuzzParsePhase(f *testing.F) {
	for _, s := range []string{"10s outage for 5s", "0 gray instances=2", "1ms overload discipline=lifo queue=0 for 1h", "for for for", "1s x=1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePhase(text)
		if err != nil {
			return
		}
		again, err := ParsePhase(p.String())
		if err != nil || again.String() != p.String() || again.At != p.At || again.For != p.For {
			t.Errorf("%q became %q: %v", text, p, err)
		}
	})
}

// Whatever comes, reading it does not panic, and what is accepted makes a server.
func FuzzParseConfig(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"scenario":"gray","params":{"instances":2},"seed":7}`, `{"timeline":["10s outage for 5s",{"at":1,"scenario":"bursty"}]}`,
		`{"params":{"delay_ms":5},"cancellation":"mid-work","token":"t"}`, `null`, `[]`, `{"seed":1e3}`, `{"timeline":[null,{}]}`,
	} {
		f.Add(s)
	}
	base := fixed(f, 0)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseConfig([]byte(text), base)
		if err != nil {
			return
		}
		if _, err := New(c); err != nil {
			t.Errorf("%q was accepted and then refused: %v", text, err)
		}
	})
}
