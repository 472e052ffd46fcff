package deploy

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/grafana/sobek"
	"github.com/retrylab/retrylab/jsmodule"
	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// registrar is a host that only hears of the module's metrics.
type registrar struct {
	rt      *sobek.Runtime
	metrics map[string]jsmodule.MetricKind
}

func (r registrar) Runtime() *sobek.Runtime                { return r.rt }
func (registrar) Context() context.Context                 { return context.Background() }
func (registrar) InitContext() bool                        { return true }
func (registrar) VU() uint64                               { return 0 }
func (registrar) Callback() func(func() error)             { return func(func() error) {} }
func (registrar) Logger() logrus.FieldLogger               { return logrus.StandardLogger() }
func (registrar) Transport() http.RoundTripper             { return nil }
func (registrar) Tags(...string) jsmodule.Tags             { return nil }
func (registrar) Push(context.Context, ...jsmodule.Sample) {}
func (r registrar) NewMetric(name string, kind jsmodule.MetricKind, _ bool) (jsmodule.Metric, error) {
	r.metrics[name] = kind
	return name, nil
}

// series are the names under which k6 writes the module's metrics to
// Prometheus, with the figures of trends that compose.yaml asks for.
func series(t *testing.T) []string {
	t.Helper()
	r := registrar{rt: sobek.New(), metrics: make(map[string]jsmodule.MetricKind)}
	_, err := jsmodule.New(nil).NewInstance(r)
	require.NoError(t, err)
	stats := strings.NewReplacer("(", "", ")", "").Replace(composed(t).Services["k6"].Environment["K6_PROMETHEUS_RW_TREND_STATS"])
	var names []string
	for name, kind := range r.metrics {
		switch kind {
		case jsmodule.Counter:
			names = append(names, "k6_"+name+"_total")
		case jsmodule.Gauge:
			names = append(names, "k6_"+name)
		case jsmodule.Rate:
			names = append(names, "k6_"+name+"_rate")
		case jsmodule.Trend:
			for stat := range strings.SplitSeq(stats, ",") {
				names = append(names, "k6_"+name+"_"+stat)
			}
		}
	}
	return names
}

func TestDashboardAsksForMetricsThatThereAre(t *testing.T) {
	_, d := spec[deployment](t, "downstream.yaml", "apps/v1", "Deployment")
	exposed := get(t, serve(t, d.Template.Spec.Containers[0].Args)+"/metrics")
	known := series(t)
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) `).FindAllStringSubmatch(exposed, -1) {
		known = append(known, m[1])
	}
	var dashboard struct {
		Panels []struct {
			ID      int
			Title   string
			Type    string
			GridPos struct{ X, Y, W, H int }
			Targets []struct {
				Expr       string
				Datasource struct{ UID string }
			}
		}
	}
	readJSON(t, "grafana/dashboard.json", &dashboard)
	asked := make(map[string]bool)
	ids := make(map[int]bool)
	for _, p := range dashboard.Panels {
		assert.False(t, ids[p.ID], "%s: the number is taken", p.Title)
		ids[p.ID] = true
		assert.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		assert.True(t, p.Type == "row" || len(p.Targets) > 0, p.Title)
		for _, target := range p.Targets {
			assert.Equal(t, "prometheus", target.Datasource.UID, p.Title)
			for _, name := range regexp.MustCompile(`\b(?:k6|retrylab)_\w+`).FindAllString(target.Expr, -1) {
				asked[name] = true
				assert.Contains(t, known, name, p.Title)
			}
			assert.Equal(t, strings.Count(target.Expr, "("), strings.Count(target.Expr, ")"), target.Expr)
		}
	}
	assert.Greater(t, len(asked), 15)
}

func TestGrafanaAndPrometheusFindTheirFiles(t *testing.T) {
	var sources struct {
		Datasources []struct{ UID, URL, Type string }
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "grafana/provisioning/datasources/prometheus.yaml")), &sources))
	assert.Equal(t, "prometheus", sources.Datasources[0].UID, "as the dashboard's panels say")
	assert.Equal(t, "http://prometheus:9090", sources.Datasources[0].URL)
	var boards struct {
		Providers []struct{ Options struct{ Path string } }
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "grafana/provisioning/dashboards/retrylab.yaml")), &boards))
	mounted := strings.Join(composed(t).Services["grafana"].Volumes, "\n")
	assert.Contains(t, mounted, "./grafana/dashboard.json:"+boards.Providers[0].Options.Path+"/")
	var scraped struct {
		Jobs []struct {
			Path    string                       `yaml:"metrics_path"`
			Configs []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "prometheus.yaml")), &scraped))
	assert.Equal(t, []string{"downstream:9000"}, scraped.Jobs[0].Configs[0].Targets)
	assert.Equal(t, "/metrics", scraped.Jobs[0].Path)
}
