package compare

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTypesFollowFromKeys(t *testing.T) {
	c, err := parseObject([]byte(`{"root_group": {}, "metrics": {
		"c": {"count": 10, "rate": 9.9, "thresholds": {"count>=10": false}},
		"g": {"value": 20, "min": 0, "max": 21},
		"r": {"passes": 12, "fails": 19, "value": 0.38, "thresholds": {"rate<0.9": true}},
		"t": {"avg": 5, "min": 4, "med": 5, "max": 9, "p(90)": 7, "p(95)": 8},
		"t{a:b}": {"avg": 6, "min": null},
		"counting": {"count": 3, "p(99.9)": 7},
		"extremes": {"min": 3, "max": 7},
		"none": {}
	}}`))
	require.NoError(t, err)
	metrics := c.metrics
	want := map[string]MetricType{"c": Counter, "g": Gauge, "r": Rate, "t": Trend, "t{a:b}": Trend, "counting": Trend, "extremes": Trend, "none": 0}
	got := map[string]MetricType{}
	for name, metric := range metrics {
		got[name] = metric.Type
	}
	require.Equal(t, want, got)
	require.Equal(t, 10.0, metrics["c"].Values["count"])
	require.NotContains(t, metrics["c"].Values, "thresholds")
	require.NotContains(t, metrics["t{a:b}"].Values, "min")
	_, ok := metrics.value("t", Trend, "p(99)")
	require.False(t, ok)
}

func TestTotalsOfTheServer(t *testing.T) {
	metrics := Metrics{
		"counted": {Type: Counter, Values: map[string]float64{"count": 7, "rate": 1}},
		"gauged":  {Type: Gauge, Values: map[string]float64{"value": 1, "min": 1, "max": 9}},
	}
	for name, want := range map[string]float64{"counted": 7, "gauged": 9} {
		got, ok := metrics.total(name)
		require.True(t, ok)
		require.Equal(t, want, got)
	}
	_, ok := metrics.total("absent")
	require.False(t, ok)
}
