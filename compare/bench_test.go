package compare_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What `make bench-compare` gives.
var (
	program   = flag.String("retrylab", "", "the retrylab to measure; without it nothing is measured")
	megabytes = flag.Int64("megabytes", 1000, "length of the stream of samples, in MB")
)

// TestSpeedOfReading measures the program as a user starts it, on generated data:
// nothing of the stream is on disk.
func TestSpeedOfReading(t *testing.T) {
	if *program == "" {
		t.Skip("needs -retrylab: make bench-compare")
	}
	t.Run("1,000 summaries", func(t *testing.T) {
		dir := summaries(t, 1000)
		begin := time.Now()
		_, memory := start(t, nil, *program, "compare", dir, "-f", "json")
		took := time.Since(begin)
		fmt.Printf("1,000 summaries with their run.json: %.2f s, peak memory %d MB (bound: 2 s)\n", took.Seconds(), memory>>20)
		require.Less(t, took, 2*time.Second)
	})
	t.Run("stream", func(t *testing.T) {
		speed := func(mb int64, args ...string) (float64, int64) {
			in := &looped{block: sampleLines(40_000), left: mb * 1e6}
			begin := time.Now()
			_, memory := start(t, in, args...)
			return float64(mb) / time.Since(begin).Seconds(), memory
		}
		ours, memory := speed(*megabytes, *program, "compare", "-", "-f", "json")
		fmt.Printf("%d MB of samples: %.0f MB/s, peak memory %d MB (bound: 150 MB)\n", *megabytes, ours, memory>>20)
		require.Less(t, memory, int64(150<<20))
		jq, err := exec.LookPath("jq")
		if err != nil {
			fmt.Println("jq is not installed: no ratio")
			return
		}
		theirs, _ := speed(max(*megabytes/10, 1), jq, "-n",
			`reduce (inputs | select(.type == "Point" and .metric == "http_req_duration") | .data.value) as $v ([0, 0]; [.[0] + 1, .[1] + $v]) | .[1] / .[0]`)
		fmt.Printf("jq, the mean of one metric of it: %.0f MB/s; ratio %.1f (bound: 10)\n", theirs, ours/theirs)
		require.Greater(t, ours/theirs, 10.0)
	})
}

// start runs a command to its end and returns what it printed and its peak memory
// in bytes, 0 where that is not told.
func start(t *testing.T, in io.Reader, args ...string) (string, int64) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	var out, log bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &log
	require.NoError(t, cmd.Run(), log.String())
	return out.String(), peak(cmd.ProcessState)
}

// summaries writes a lab of n runs, every other one as k6 writes it.
func summaries(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	file := func(name string) string {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		return string(data)
	}
	run, own, k6 := file("lab/06-jitter-random-failures.run.json"), file("lab/06-jitter-random-failures.summary.json"), file("service/flat-summary.json")
	for i := range n {
		name := fmt.Sprintf("%04d-jitter-random-failures", i+1)
		summary := own
		if i%2 == 0 {
			summary = k6
		}
		write(t, dir, name+".summary.json", summary)
		write(t, dir, name+".run.json", strings.Replace(run, `"number": 6`, fmt.Sprintf(`"number": %d`, i+1), 1))
	}
	return dir
}

// sampleLines are samples as k6 writes them, n of them and the lines of their
// metrics.
func sampleLines(n int) []byte {
	var b bytes.Buffer
	trends := []string{"http_req_duration", "http_req_blocked", "http_req_connecting", "http_req_tls_handshaking", "http_req_sending", "http_req_waiting", "http_req_receiving"}
	metrics := append([]string{"http_reqs"}, trends...)
	for _, name := range metrics {
		kind, subs := "trend", "null"
		switch name {
		case "http_reqs":
			kind = "counter"
		case "http_req_duration":
			subs = `[{"name":"http_req_duration{expected_response:true}","suffix":"expected_response:true","tags":{"expected_response":"true"}}]`
		}
		fmt.Fprintf(&b, `{"type":"Metric","data":{"name":%q,"type":%q,"contains":"time","thresholds":[],"submetrics":%s},"metric":%q}`+"\n", name, kind, subs, name)
	}
	random := rand.New(rand.NewPCG(1, 2))
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range n {
		name, value := metrics[i%len(metrics)], "1"
		if name != "http_reqs" {
			value = fmt.Sprintf("%.6f", random.ExpFloat64()*100)
		}
		if i%len(metrics) == 0 {
			at = at.Add(time.Duration(random.IntN(1e6)))
		}
		status, expected := "200", "true"
		if i/len(metrics)%3 == 0 {
			status, expected = "503", "false"
		}
		fmt.Fprintf(&b, `{"metric":%q,"type":"Point","data":{"time":%q,"value":%s,"tags":{"expected_response":%q,"group":"::grp","method":"GET","name":"http://127.0.0.1:18742/call/%d","policy":"p1","proto":"HTTP/1.1","scenario":"a","status":%q,"url":"http://127.0.0.1:18742/call/%d"}}}`+"\n",
			name, at.Format(time.RFC3339Nano), value, expected, i/len(metrics)%50, status, i/len(metrics)%50)
	}
	return b.Bytes()
}

// looped is a block over and over, in whole lines, until about left bytes are
// read.
type looped struct {
	block []byte
	at    int
	left  int64
}

func (r *looped) Read(p []byte) (int, error) {
	if r.at == 0 && r.left <= 0 {
		return 0, io.EOF
	}
	n := copy(p, r.block[r.at:])
	r.at = (r.at + n) % len(r.block)
	r.left -= int64(n)
	return n, nil
}
