// Ratios measures Retry Lab's executors against the yardstick libraries and
// prints the table of docs/performance.md. It fails where a target is missed.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/retrylab/retrylab/yardstick"
)

func main() {
	rounds := flag.Int("rounds", 25, "how often each case is measured, at least once")
	each := flag.Duration("time", 40*time.Millisecond, "how long each side takes in each round, at least")
	only := flag.String("only", "", "measure only the cases whose name contains this")
	flag.Parse()
	if *rounds < 1 || *each <= 0 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*rounds, *each, *only); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(rounds int, each time.Duration, only string) error {
	fmt.Println("| case | against | goroutines | ours ns/op | allocs | theirs ns/op | allocs | ratio: median (min … max) | wanted |")
	fmt.Println("|---|---|--:|--:|--:|--:|--:|--:|--:|")
	var missed []string
	for _, c := range yardstick.Cases() {
		if !strings.Contains(c.Name, only) {
			continue
		}
		for _, goroutines := range []int{1, 2} {
			got, err := yardstick.Compare(c, goroutines, rounds, each)
			if err != nil {
				return err
			}
			wanted := "–"
			if c.Most > 0 {
				wanted = fmt.Sprintf("≤ %.2f", c.Most)
			}
			fmt.Printf("| %s | %s | %d | %.0f | %.0f | %.0f | %.0f | %.2f (%.2f … %.2f) | %s |\n",
				c.Name, c.Library, goroutines, got.Ours.Nanoseconds, got.Ours.Allocs, got.Theirs.Nanoseconds, got.Theirs.Allocs,
				got.Ratio.Median, got.Ratio.Min, got.Ratio.Max, wanted)
			missed = append(missed, got.Missed()...)
		}
	}
	if len(missed) > 0 {
		return fmt.Errorf("targets missed:\n  %s", strings.Join(missed, "\n  "))
	}
	return nil
}
