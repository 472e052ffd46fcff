package deploy

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// compose are the parts of a compose file that ours uses.
type compose struct {
	Name     string
	Services map[string]struct {
		Profiles []string
		Build    struct{ Context, Dockerfile, Target string }
		Image    string
		Command  []string
		Expose   []string
		Ports    []string

		Environment map[string]string
		Healthcheck struct {
			Test              []string
			Interval, Timeout string
			Retries           int
		}
		DependsOn yaml.Node `yaml:"depends_on"`
		Volumes   []string
	}
	Volumes map[string]any
}

func composed(t *testing.T) compose {
	t.Helper()
	data, err := os.ReadFile("compose.yaml")
	require.NoError(t, err)
	var c compose
	decode(t, data, &c)
	return c
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

// targets are the images that the Dockerfile builds.
func targets(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^FROM \S+ AS (\S+)$`).FindAllStringSubmatch(read(t, "Dockerfile"), -1) {
		names = append(names, m[1])
	}
	return names
}

func TestDockerfileCopiesWhatIsThere(t *testing.T) {
	copied := regexp.MustCompile(`(?m)^COPY ([^-].*) \S+$`).FindAllStringSubmatch(read(t, "Dockerfile"), -1)
	assert.GreaterOrEqual(t, len(copied), 4)
	for _, m := range copied {
		for _, path := range strings.Fields(m[1]) {
			_, err := os.Stat(filepath.Join("..", path))
			assert.NoError(t, err)
		}
	}
	for _, stage := range regexp.MustCompile(`--from=(\S+)`).FindAllStringSubmatch(read(t, "Dockerfile"), -1) {
		assert.Contains(t, targets(t), stage[1])
	}
}

func TestDockerfileBuildsK6AsTheMakefileDoes(t *testing.T) {
	words := func(text string) string {
		return strings.Join(strings.Fields(strings.ReplaceAll(text, "\\\n", " ")), " ")
	}
	const flags = "--with github.com/retrylab/retrylab/xk6-resilience=./xk6-resilience --replace github.com/retrylab/retrylab=."
	assert.True(t, strings.Contains(words(read(t, "../Makefile")), "xk6 build "+flags), "the Makefile's flags are others")
	version := regexp.MustCompile(`go\.k6\.io/k6/v2 (v\S+)`).FindStringSubmatch(read(t, "../xk6-resilience/go.mod"))
	require.NotNil(t, version)
	assert.Contains(t, words(read(t, "Dockerfile")), "xk6 build "+version[1]+" --output /out/k6 "+flags)
}

func TestManifestsUseTheImagesThatComposeNames(t *testing.T) {
	built := make(map[string]string)
	for name, s := range composed(t).Services {
		if s.Build.Target == "" {
			continue
		}
		assert.Contains(t, targets(t), s.Build.Target, name)
		assert.FileExists(t, filepath.Join(s.Build.Context, s.Build.Dockerfile), name)
		built[s.Image] = s.Build.Target
	}
	assert.Equal(t, map[string]string{"retrylab": "retrylab", "retrylab-k6": "k6"}, built)
	_, d := spec[deployment](t, "downstream.yaml", "apps/v1", "Deployment")
	_, run := spec[testRun](t, "testrun.yaml", "k6.io/v1alpha1", "TestRun")
	assert.Equal(t, "retrylab:latest", d.Template.Spec.Containers[0].Image)
	assert.Equal(t, "retrylab-k6:latest", run.Runner.Image)
	for _, file := range []string{"testrun-merge.yaml", "segments.yaml", "segments-merge.yaml"} {
		_, j := spec[job](t, file, "batch/v1", "Job")
		assert.Equal(t, "retrylab:latest", j.Template.Spec.Containers[0].Image, file)
	}
}

func TestComposedServicesFindOneAnother(t *testing.T) {
	c := composed(t)
	down := c.Services["downstream"]
	args := slices.Clone(down.Command)
	for i, a := range args {
		args[i] = defaults(a)
	}
	url := serve(t, args)
	probe := down.Healthcheck.Test[len(down.Healthcheck.Test)-1]
	get(t, url+strings.TrimPrefix(probe, "http://127.0.0.1:9000"))
	assert.Contains(t, strings.Join(args, " "), "--addr 0.0.0.0:9000 --public")
	k6 := c.Services["k6"]
	assert.Equal(t, "http://downstream:9000", k6.Environment["BASE_URL"])
	script := defaults(k6.Command[len(k6.Command)-1])
	assert.FileExists(t, filepath.Join("..", script))
	assert.Equal(t, []string{"run", "--no-usage-report", "--summary-export", "summary.json"}, k6.Command[:len(k6.Command)-1])
	assert.Equal(t, "http://prometheus:9090/api/v1/write", k6.Environment["K6_PROMETHEUS_RW_SERVER_URL"])

	assert.Subset(t, slices.Collect(maps.Keys(c.Services)), []string{"prometheus", "grafana"})
	for name, s := range c.Services {
		for _, volume := range s.Volumes {
			from, _, _ := strings.Cut(volume, ":")
			if _, named := c.Volumes[from]; !named {
				_, err := os.Stat(from)
				assert.NoError(t, err, name)
			}
		}
	}
}

// defaults puts the default values of a compose file's ${NAME:-value} in place.
func defaults(text string) string {
	return regexp.MustCompile(`\$\{\w+:-([^}]*)\}`).ReplaceAllString(text, "$1")
}
