// Command cost prints what an iteration of a small script costs: CPU seconds
// and peak memory of the whole process. With -k6 it runs the same script on k6
// too, in turns, and prints the ratios.
//
//	K6=/path/to/k6 make bench-runner
//
// It fails where a target is missed: at most half of k6's CPU time and memory,
// and memory that ten times the samples raise by at most a tenth.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const script = `import http from 'k6/http';
import { check } from 'k6';
export default function () {
  const res = http.get(__ENV.TARGET);
  check(res, { 'is 200': (r) => r.status === 200 });
}
`

const (
	most     = 0.5  // of k6's CPU time and memory
	flatness = 1.10 // memory after ten times the samples, to that before
)

func main() {
	retrylab := flag.String("retrylab", "bin/retrylab", "the retrylab to measure")
	k6 := flag.String("k6", os.Getenv("K6"), "a k6 to measure beside it (default: the environment's K6)")
	vus := flag.Int("vus", 20, "virtual users")
	iterations := flag.Int("iterations", 40_000, "iterations of a run")
	rounds := flag.Int("rounds", 3, "runs of each")
	flag.Parse()
	if err := run(os.Stdout, *retrylab, *k6, *vus, *iterations, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

// price is what a run cost.
type price struct {
	cpu    time.Duration // of an iteration
	memory int64         // peak, in bytes
	took   time.Duration
}

func run(out io.Writer, retrylab, k6 string, vus, iterations, rounds int) error {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"ok":true}`) }))
	defer s.Close()
	dir, err := os.MkdirTemp("", "cost")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "script.js")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		return err
	}
	measure := func(binary string, n int) (price, error) {
		cmd := exec.Command(binary, "run", "--quiet", "-u", strconv.Itoa(vus), "-i", strconv.Itoa(n), file)
		cmd.Env = append(os.Environ(), "TARGET="+s.URL, "K6_NO_USAGE_REPORT=true")
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		begin := time.Now()
		if err := cmd.Run(); err != nil {
			return price{}, fmt.Errorf("%s: %w\n%s", binary, err, said.String())
		}
		if !strings.Contains(said.String(), strconv.Itoa(n)) {
			return price{}, fmt.Errorf("%s does not tell of %d iterations:\n%s", binary, n, said.String())
		}
		state := cmd.ProcessState
		return price{(state.UserTime() + state.SystemTime()) / time.Duration(n), peak(state), time.Since(begin)}, nil
	}
	runners := []string{retrylab}
	if k6 != "" {
		runners = append(runners, k6)
	}
	prices := make([][]price, len(runners))
	for range rounds {
		for i, binary := range runners {
			p, err := measure(binary, iterations)
			if err != nil {
				return err
			}
			prices[i] = append(prices[i], p)
		}
	}
	fmt.Fprintf(out, "GET and check, %d VUs, %d iterations, loopback, median of %d runs\n\n", vus, iterations, rounds)
	fmt.Fprintf(out, "| runner | CPU µs an iteration | peak memory MB | iterations/s |\n|---|--:|--:|--:|\n")
	for i, name := range []string{"retrylab", "k6"}[:len(runners)] {
		p := median(prices[i])
		fmt.Fprintf(out, "| %s | %.1f | %.1f | %.0f |\n", name,
			float64(p.cpu)/float64(time.Microsecond), float64(p.memory)/1e6, float64(iterations)/p.took.Seconds())
	}
	var missed []error
	if k6 != "" {
		ours, theirs := median(prices[0]), median(prices[1])
		cpu, memory := float64(ours.cpu)/float64(theirs.cpu), float64(ours.memory)/float64(theirs.memory)
		fmt.Fprintf(out, "\nretrylab / k6: CPU %.2f, memory %.2f (wanted: at most %.2f)\n", cpu, memory, most)
		if cpu > most || memory > most {
			missed = append(missed, fmt.Errorf("more than %.2f of k6: CPU %.2f, memory %.2f", most, cpu, memory))
		}
	}
	many, err := measure(retrylab, 10*iterations)
	if err != nil {
		return err
	}
	growth := float64(many.memory) / float64(median(prices[0]).memory)
	fmt.Fprintf(out, "memory after 10 times the samples: %.1f MB, %.2f of that before (wanted: at most %.2f)\n",
		float64(many.memory)/1e6, growth, flatness)
	if growth > flatness {
		missed = append(missed, fmt.Errorf("memory grew to %.2f", growth))
	}
	return errors.Join(missed...)
}

// median is that of each figure by itself.
func median(prices []price) price {
	middle := func(less func(a, b price) int) price {
		sorted := slices.SortedFunc(slices.Values(prices), less)
		return sorted[len(sorted)/2]
	}
	return price{
		middle(func(a, b price) int { return int(a.cpu - b.cpu) }).cpu,
		middle(func(a, b price) int { return int(a.memory - b.memory) }).memory,
		middle(func(a, b price) int { return int(a.took - b.took) }).took,
	}
}
