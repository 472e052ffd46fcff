// Package deploy holds no code: only the tests of what is beside it.
package deploy

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// The parts of Kubernetes' objects that the manifests use. A field that is not
// among them is refused: a cluster would refuse or ignore it too.
type (
	object struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   metadata
		Spec       yaml.Node
	}
	metadata struct {
		Name                string
		Labels, Annotations map[string]string
	}
	deployment struct {
		Replicas int
		Strategy struct{ Type string }
		Selector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		}
		Template template
	}
	job struct {
		CompletionMode string `yaml:"completionMode"`
		Completions    int
		Parallelism    int
		BackoffLimit   *int `yaml:"backoffLimit"`
		Template       template
	}
	service struct {
		Selector map[string]string
		Ports    []port
	}
	claim struct {
		AccessModes []string `yaml:"accessModes"`
		Resources   resources
	}
	testRun struct {
		Parallelism int
		Script      struct {
			LocalFile string `yaml:"localFile"`
		}
		Arguments string
		Runner    struct {
			container `yaml:",inline"`
			Volumes   []volume
		}
	}
	template struct {
		Metadata metadata
		Spec     struct {
			RestartPolicy   string         `yaml:"restartPolicy"`
			SecurityContext map[string]any `yaml:"securityContext"`
			Containers      []container
			Volumes         []volume
		}
	}
	container struct {
		Name            string
		Image           string
		ImagePullPolicy string `yaml:"imagePullPolicy"`
		Command, Args   []string
		Env             []variable
		Ports           []port
		VolumeMounts    []struct {
			Name      string
			MountPath string `yaml:"mountPath"`
		} `yaml:"volumeMounts"`
		ReadinessProbe struct {
			HTTPGet       struct{ Path, Port string } `yaml:"httpGet"`
			PeriodSeconds int                         `yaml:"periodSeconds"`
		} `yaml:"readinessProbe"`
		Resources       resources
		SecurityContext map[string]any `yaml:"securityContext"`
	}
	variable struct {
		Name, Value string
		ValueFrom   struct {
			FieldRef struct {
				FieldPath string `yaml:"fieldPath"`
			} `yaml:"fieldRef"`
		} `yaml:"valueFrom"`
	}
	port struct {
		Name          string
		Port          int
		TargetPort    string `yaml:"targetPort"`
		ContainerPort int    `yaml:"containerPort"`
	}
	volume struct {
		Name  string
		Claim struct {
			Name string `yaml:"claimName"`
		} `yaml:"persistentVolumeClaim"`
	}
	resources struct{ Requests map[string]string }
)

// decode reads YAML strictly.
func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	require.NoError(t, d.Decode(into))
}

// spec is the specification of the object of this kind in a manifest.
func spec[T any](t *testing.T, file, apiVersion, kind string) (name string, s T) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("kubernetes", file))
	require.NoError(t, err)
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	for {
		var o object
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			t.Fatalf("%s has no %s %s", file, apiVersion, kind)
		}
		require.NoError(t, err, file)
		if o.APIVersion == apiVersion && o.Kind == kind {
			text, err := yaml.Marshal(&o.Spec)
			require.NoError(t, err)
			decode(t, text, &s)
			return o.Metadata.Name, s
		}
	}
}

// program builds retrylab, once for all tests.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "retrylab-deploy-")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-o", dir, "../cmd/retrylab").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build of retrylab: %w: %s", err, out)
	}
	return filepath.Join(dir, "retrylab"), nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := program(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

func retrylab(t *testing.T) string {
	t.Helper()
	path, err := program()
	require.NoError(t, err)
	return path
}

// serve runs a downstream with these arguments on a free port, and returns its
// address.
func serve(t *testing.T, args []string) string {
	t.Helper()
	args = append([]string{}, args...)
	for i, a := range args {
		if a == "--addr" {
			args[i+1] = "127.0.0.1:0"
		}
	}
	cmd := exec.Command(retrylab(t), args...)
	told, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(told)
	for lines.Scan() {
		if url := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(lines.Text()); url != "" {
			go func() { _, _ = io.Copy(io.Discard, told) }()
			return url
		}
	}
	t.Fatalf("retrylab %q said no address", args)
	return ""
}

func get(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	require.NoError(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode, url)
	return string(body)
}

// shell runs a container's command as the cluster would, with some of its
// variables set otherwise and what the cluster itself would set.
func shell(t *testing.T, c container, with ...string) string {
	t.Helper()
	require.Equal(t, []string{"sh", "-ec"}, c.Command[:2])
	cmd := exec.Command(c.Command[0], c.Command[1:]...)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(retrylab(t))+":"+os.Getenv("PATH"))
	for _, v := range c.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	cmd.Env = append(cmd.Env, with...)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	require.NoError(t, cmd.Run(), "%s\n%s", out.String(), log.String())
	return out.String()
}

func TestDownstreamServesAsItsManifestSays(t *testing.T) {
	name, d := spec[deployment](t, "downstream.yaml", "apps/v1", "Deployment")
	serviceName, s := spec[service](t, "downstream.yaml", "v1", "Service")
	c := d.Template.Spec.Containers[0]
	assert.Equal(t, name, serviceName)
	assert.Equal(t, d.Selector.MatchLabels, d.Template.Metadata.Labels)
	assert.Equal(t, d.Selector.MatchLabels, s.Selector)
	assert.Equal(t, 1, d.Replicas, "the ledger is of one process")
	assert.Equal(t, 9000, s.Ports[0].Port)
	assert.Equal(t, 9000, c.Ports[0].ContainerPort)
	assert.Equal(t, c.Ports[0].Name, s.Ports[0].TargetPort)
	assert.Equal(t, c.Ports[0].Name, c.ReadinessProbe.HTTPGet.Port)
	assert.Contains(t, strings.Join(c.Args, " "), "--addr 0.0.0.0:9000 --public")
	url := serve(t, c.Args)
	get(t, url+c.ReadinessProbe.HTTPGet.Path)
	annotations := d.Template.Metadata.Annotations
	assert.Equal(t, "9000", annotations["prometheus.io/port"])
	assert.Contains(t, get(t, url+annotations["prometheus.io/path"]), "retrylab_downstream_calls_received_total")
}

// summary is what a merged summary must hold.
type summary struct {
	Metrics map[string]struct{ Values map[string]float64 }
}

func TestFourSegmentsMergeToTheWhole(t *testing.T) {
	_, d := spec[deployment](t, "downstream.yaml", "apps/v1", "Deployment")
	_, segments := spec[job](t, "segments.yaml", "batch/v1", "Job")
	_, merge := spec[job](t, "segments-merge.yaml", "batch/v1", "Job")
	require.Equal(t, "Indexed", segments.CompletionMode)
	require.Equal(t, 4, segments.Completions)
	require.Equal(t, 4, segments.Parallelism)
	results, scripts := t.TempDir(), absolute(t, "../scripts")
	url := serve(t, d.Template.Spec.Containers[0].Args)
	var wg sync.WaitGroup
	for i := range segments.Completions {
		wg.Go(func() {
			shell(t, segments.Template.Spec.Containers[0], "JOB_COMPLETION_INDEX="+strconv.Itoa(i), "BASE_URL="+url,
				"SCRIPTS="+scripts, "RESULTS="+results, "K6_VUS=8", "K6_DURATION=2s")
		})
	}
	wg.Wait()
	report := shell(t, merge.Template.Spec.Containers[0], "RESULTS="+results)
	assert.Regexp(t, `(?m)^ 01  jitter\s+\d`, report)

	var whole summary
	readJSON(t, filepath.Join(results, "01-jitter-random-failures.summary.json"), &whole)
	var account struct{ Received float64 }
	require.NoError(t, json.Unmarshal([]byte(get(t, url+"/stats")), &account))
	assert.Greater(t, account.Received, 40.0)
	assert.Equal(t, account.Received, whole.Metrics["resilience_downstream_calls"].Values["count"], "the server and the four callers agree")
	amplification := whole.Metrics["resilience_amplification"].Values
	assert.InDelta(t, account.Received/whole.Metrics["resilience_requests"].Values["count"], amplification["avg"], 1e-9)
	assert.Contains(t, amplification, "p(95)")
}

// k6Flags are flags of k6 run, v2.2.0, that k6 archive has too or that the
// operator leaves out for it.
var k6Flags = []string{"--no-usage-report", "--no-teardown"}

func TestTestRunRunsAScriptOfTheImageInFourShards(t *testing.T) {
	name, run := spec[testRun](t, "testrun.yaml", "k6.io/v1alpha1", "TestRun")
	assert.Equal(t, 4, run.Parallelism)
	script, inImage := strings.CutPrefix(run.Script.LocalFile, "/scripts/")
	assert.True(t, inImage)
	assert.FileExists(t, filepath.Join("..", "scripts", script))
	for _, flag := range strings.Fields(run.Arguments) {
		assert.Contains(t, k6Flags, flag)
	}
	env := make(map[string]variable)
	for _, v := range run.Runner.Env {
		env[v.Name] = v
	}
	assert.Equal(t, "metadata.labels['job-name']", env["SHARD"].ValueFrom.FieldRef.FieldPath)
	assert.Equal(t, "http://downstream:9000", env["BASE_URL"].Value)

	// What the shards write is what the Job reads. The built-in runner writes
	// samples as k6 does.
	_, merge := spec[job](t, "testrun-merge.yaml", "batch/v1", "Job")
	results := t.TempDir()
	for i := range run.Parallelism {
		out := strings.ReplaceAll(env["K6_OUT"].Value, "$(SHARD)", fmt.Sprintf("%s-%d", name, i+1))
		path, isJSON := strings.CutPrefix(out, "json=/results/")
		require.True(t, isJSON)
		log, err := exec.Command(retrylab(t), "run", filepath.Join("..", "scripts", script), "--quiet", "--no-teardown",
			"--vus", "2", "--iterations", "2", "--out", "json="+filepath.Join(results, path)).CombinedOutput()
		require.NoError(t, err, string(log))
	}
	report := shell(t, merge.Template.Spec.Containers[0], "RESULTS="+results)
	assert.Regexp(t, `(?m)^ 01  jitter\s+\d`, report)
}

func TestPodsShareOneFolderOfResults(t *testing.T) {
	claimed, c := spec[claim](t, "results.yaml", "v1", "PersistentVolumeClaim")
	assert.Equal(t, []string{"ReadWriteMany"}, c.AccessModes)
	_, run := spec[testRun](t, "testrun.yaml", "k6.io/v1alpha1", "TestRun")
	check := func(file string, volumes []volume, c container) {
		assert.Equal(t, claimed, volumes[0].Claim.Name, file)
		assert.Equal(t, volumes[0].Name, c.VolumeMounts[0].Name, file)
		assert.Equal(t, "/results", c.VolumeMounts[0].MountPath, file)
	}
	check("testrun.yaml", run.Runner.Volumes, run.Runner.container)
	for _, file := range []string{"testrun-merge.yaml", "segments.yaml", "segments-merge.yaml"} {
		_, j := spec[job](t, file, "batch/v1", "Job")
		check(file, j.Template.Spec.Volumes, j.Template.Spec.Containers[0])
		require.NotNil(t, j.BackoffLimit, file)
		assert.Zero(t, *j.BackoffLimit, "%s: a shard that runs twice counts twice", file)
		assert.Equal(t, "Never", j.Template.Spec.RestartPolicy, file)
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	require.NoError(t, err)
	return abs
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, into), path)
}
