package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/retrylab/retrylab/cli"
	"github.com/retrylab/retrylab/downstream"
	"github.com/retrylab/retrylab/service"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A script that needs no extension measures a policy through the service, and
// counts what the service itself counts.
func TestScriptForAStockK6MeasuresTheService(t *testing.T) {
	app := service.New(service.Config{Cancellation: downstream.MidWork, Seed: 1})
	server := httptest.NewServer(app)
	t.Cleanup(func() {
		server.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		assert.NoError(t, app.Close(ctx))
	})
	summary := filepath.Join(t.TempDir(), "summary.json")
	var out, log bytes.Buffer
	code := cli.Main([]string{
		"run", "../scripts/service.js", "--vus", "5", "--iterations", "30", "--summary-export", summary,
		"-e", "BASE_URL=" + server.URL, "-e", "POLICY=immediate-retry",
	}, cli.Streams{Out: &out, Err: &log})
	require.Zero(t, code, log.String())

	told := regexp.MustCompile(`account: (\{.*\})`).FindStringSubmatch(string(bytes.ReplaceAll(log.Bytes(), []byte(`\"`), []byte(`"`))))
	require.NotNil(t, told, log.String())
	var snapshot service.Snapshot
	require.NoError(t, json.Unmarshal([]byte(told[1]), &snapshot))

	data, err := os.ReadFile(summary)
	require.NoError(t, err)
	var read struct {
		Metrics map[string]map[string]any `json:"metrics"`
	}
	require.NoError(t, json.Unmarshal(data, &read))
	count := func(metric string) float64 {
		v, _ := read.Metrics[metric]["count"].(float64)
		return v
	}
	assert.Equal(t, 30, snapshot.TotalRequests)
	assert.EqualValues(t, snapshot.SuccessfulRequests, count("successful_requests"))
	assert.EqualValues(t, snapshot.FailedRequests, count("failed_requests"))
	assert.EqualValues(t, snapshot.DownstreamCalls, count("downstream_calls"))
	assert.EqualValues(t, snapshot.DownstreamCalls, count("all_attempt_latency"))
	assert.InDelta(t, snapshot.RetryAmplificationFactor, read.Metrics["retry_amplification_factor"]["avg"], 1e-9)
	assert.Greater(t, snapshot.DownstreamCalls, 30)
}
