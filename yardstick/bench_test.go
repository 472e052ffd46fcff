package yardstick

import (
	"fmt"
	"testing"
)

// BenchmarkCases runs both sides of every case, for benchstat and profiles.
// The figures of two sides come minutes apart here: for their ratio, use the
// command ratios.
func BenchmarkCases(b *testing.B) {
	for _, c := range Cases() {
		for _, goroutines := range []int{1, 2} {
			for _, side := range []struct {
				name string
				Side
			}{{"retrylab", c.Ours}, {c.Library, c.Theirs}} {
				b.Run(fmt.Sprintf("case=%s/side=%s/goroutines=%d", c.Name, side.name, goroutines), func(b *testing.B) {
					workers := side.Workers(goroutines)
					b.ReportAllocs()
					b.ResetTimer()
					// Rounded up, so that each goroutine does something.
					if err := Run(workers, (b.N+goroutines-1)/goroutines); err != nil {
						b.Fatal(err)
					}
				})
			}
		}
	}
}
