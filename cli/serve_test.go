package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
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

// Once a request whose body stalled held up the end for 30 s, and then failed it.
func TestServeEndsInSpiteOfSilentAndStalledClients(t *testing.T) {
	p := startProgram(t, time.Minute, "serve", "--addr", "127.0.0.1:0")
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
		return conn
	}
	read := func(conn net.Conn) (status int, body string) {
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		defer response.Body.Close()
		data, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(data)
	}
	dial() // and says nothing
	const work = "GET /api/work?policy=no-retry-standard-timeout&scenario=fixed-delay HTTP/1.1\r\nHost: x\r\n"
	var stalled []net.Conn
	for _, request := range []string{work, "GET /api/metrics HTTP/1.1\r\nHost: x\r\n", "POST /nowhere HTTP/1.1\r\nHost: x\r\n"} {
		conn := dial()
		// That the server asks for the body tells that it waits for it.
		_, err := io.WriteString(conn, request+"Content-Length: 10\r\nExpect: 100-continue\r\n\r\n")
		require.NoError(t, err)
		status, _ := read(conn)
		require.Equal(t, http.StatusContinue, status)
		stalled = append(stalled, conn)
	}
	whole := dial()
	_, err := io.WriteString(whole, work+"Content-Length: 2\r\n\r\nok")
	require.NoError(t, err)
	status, body := read(whole)
	assert.Equal(t, http.StatusOK, status, body)

	var account service.Snapshot
	assert.Zero(t, p.end(t, syscall.SIGTERM, &account), p.log.String())
	for _, conn := range stalled {
		status, body := read(conn)
		assert.Equal(t, http.StatusRequestTimeout, status)
		assert.Regexp(t, `^\{"error":"body has not come to its end within [\d.]+s"\}\n$`, body)
	}
	assert.Equal(t, 1, account.TotalRequests, "what has not come is no request")
}
