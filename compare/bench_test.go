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

// What `make bench-compare` asks for. A small stream is mostly the start of the
// programs, so that no target is judged by it.
var (
	megabytes = flag.Int64("megabytes", 20, "length of the stream of samples, in MB")
	targets   = flag.Bool("targets", false, "fail where a target is missed")
)

// The targets.
const (
	mostSeconds = 2.0   // for 1,000 summaries
	mostMemory  = 150.0 // MiB for a stream of whatever length
	leastOfJq   = 10.0  // times the speed of jq
)

// BenchmarkSummaries measures the program as a user starts it, on a lab of 1,000
// runs.
func BenchmarkSummaries(b *testing.B) {
	program, dir := build(b), summaries(b, 1000)
	var memory int64
	for b.Loop() {
		memory = max(memory, start(b, nil, program, "compare", dir, "-f", "json"))
	}
	seconds := b.Elapsed().Seconds() / float64(b.N)
	b.ReportMetric(seconds, "s/1000-summaries")
	reportMemory(b, memory)
	if seconds > mostSeconds && *targets {
		b.Errorf("1,000 summaries took %.2f s: at most %v s are wanted", seconds, mostSeconds)
	}
}

// BenchmarkStream measures the program and jq, if that is installed, on generated
// samples, of which nothing is on disk.
func BenchmarkStream(b *testing.B) {
	program, block := build(b), sampleLines(40_000)
	var memory int64
	for b.Loop() {
		memory = max(memory, start(b, &looped{block: block, left: *megabytes * 1e6}, program, "compare", "-", "-f", "json"))
	}
	ours := float64(*megabytes) * float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(ours, "MB/s")
	mib := reportMemory(b, memory)
	if mib > mostMemory && *targets {
		b.Errorf("the peak of memory is %.0f MiB: at most %v MiB are wanted", mib, mostMemory)
	}
	jq, err := exec.LookPath("jq")
	if err != nil {
		b.Log("jq is not installed: there is no ratio to it")
		return
	}
	part := max(*megabytes/10, 2) // jq is slow
	begin := time.Now()
	start(b, &looped{block: block, left: part * 1e6}, jq, "-n",
		`reduce (inputs | select(.type == "Point" and .metric == "http_req_duration") | .data.value) as $v ([0, 0]; [.[0] + 1, .[1] + $v]) | .[1] / .[0]`)
	theirs := float64(part) / time.Since(begin).Seconds()
	b.ReportMetric(ours/theirs, "x-jq")
	if ours/theirs < leastOfJq && *targets {
		b.Errorf("%.0f MB/s are %.1f times the %.0f MB/s of jq: at least %v times are wanted", ours, ours/theirs, theirs, leastOfJq)
	}
}

// reportMemory reports a peak of memory, given in bytes, in MiB, and returns it so;
// 0 is one that the system does not tell.
func reportMemory(b *testing.B, peak int64) float64 {
	mib := float64(peak) / (1 << 20)
	if peak > 0 {
		b.ReportMetric(mib, "peak-MiB")
	}
	return mib
}

// build builds the program.
func build(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "retrylab.exe") // which every system runs
	out, err := exec.CommandContext(b.Context(), "go", "build", "-o", path, "github.com/retrylab/retrylab/cmd/retrylab").CombinedOutput()
	require.NoError(b, err, string(out))
	return path
}

// start runs a command to its end and returns its peak memory in bytes, 0 where
// that is not told.
func start(b *testing.B, in io.Reader, args ...string) int64 {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), args[0], args[1:]...)
	var log bytes.Buffer
	cmd.Stdin, cmd.Stderr = in, &log
	require.NoError(b, cmd.Run(), log.String())
	return peak(cmd.ProcessState)
}

// summaries writes a lab of n runs, every other one as k6 writes it.
func summaries(t testing.TB, n int) string {
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
