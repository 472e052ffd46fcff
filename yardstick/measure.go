package yardstick

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Run does n operations on each of some goroutines at once. It fails where an
// operation does not succeed: then something else was measured than was meant.
func Run(workers []Worker, n int) error {
	succeeded := make([]int, len(workers))
	var wg sync.WaitGroup
	for i, work := range workers[1:] {
		wg.Go(func() { succeeded[i+1] = work(n) })
	}
	succeeded[0] = workers[0](n)
	wg.Wait()
	for i, s := range succeeded {
		if s != n {
			return fmt.Errorf("goroutine %d: %d of %d operations succeeded", i+1, s, n)
		}
	}
	return nil
}

// Workers makes the state of a side and the workers of its goroutines.
func (s Side) Workers(goroutines int) []Worker {
	makeWorker := s()
	workers := make([]Worker, goroutines)
	for i := range workers {
		workers[i] = makeWorker()
	}
	return workers
}

// Cost is what one operation costs: of all goroutines together, so that two
// that do not hinder each other take half of the time of one.
type Cost struct {
	Nanoseconds float64
	Allocs      float64
}

func cost(workers []Worker, n int) (Cost, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	err := Run(workers, n)
	took := time.Since(begin)
	runtime.ReadMemStats(&after)
	ops := float64(n * len(workers))
	return Cost{float64(took.Nanoseconds()) / ops, float64(after.Mallocs-before.Mallocs) / ops}, err
}

// enough finds how many operations take at least d.
func enough(workers []Worker, d time.Duration) (int, error) {
	for n := 1000; ; n *= 2 {
		begin := time.Now()
		if err := Run(workers, n); err != nil {
			return 0, err
		}
		if took := time.Since(begin); took >= d {
			return n, nil
		}
	}
}

// Spread is the median of some figures, and the least and greatest of them.
type Spread struct{ Median, Min, Max float64 }

func spread(figures []float64) Spread {
	slices.Sort(figures)
	n := len(figures)
	return Spread{(figures[(n-1)/2] + figures[n/2]) / 2, figures[0], figures[n-1]}
}

// Comparison is what the two sides of a case cost, in the middle of some
// rounds, and what they cost relative to each other in each of the rounds.
type Comparison struct {
	Case         Case
	Goroutines   int
	Ours, Theirs Cost
	Ratio        Spread
}

// Compare measures both sides of a case in turns, each for at least d a round,
// so that what disturbs the machine disturbs both. Odd rounds begin with ours,
// even ones with theirs. Rounds must be at least 1.
func Compare(c Case, goroutines, rounds int, d time.Duration) (Comparison, error) {
	sides := [2][]Worker{c.Ours.Workers(goroutines), c.Theirs.Workers(goroutines)}
	var n [2]int
	for i := range sides {
		var err error
		if n[i], err = enough(sides[i], d); err != nil {
			return Comparison{}, fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	var times, allocs [2][]float64
	var ratios []float64
	for round := range rounds {
		var took [2]Cost
		for k := range sides {
			i := (k + round) % 2
			runtime.GC()
			var err error
			if took[i], err = cost(sides[i], n[i]); err != nil {
				return Comparison{}, fmt.Errorf("%s: %w", c.Name, err)
			}
			times[i] = append(times[i], took[i].Nanoseconds)
			allocs[i] = append(allocs[i], took[i].Allocs)
		}
		ratios = append(ratios, took[0].Nanoseconds/took[1].Nanoseconds)
	}
	return Comparison{
		Case: c, Goroutines: goroutines,
		Ours:   Cost{spread(times[0]).Median, spread(allocs[0]).Median},
		Theirs: Cost{spread(times[1]).Median, spread(allocs[1]).Median},
		Ratio:  spread(ratios),
	}, nil
}

// Missed says which of the case's targets the comparison misses, in words.
func (c Comparison) Missed() []string {
	var missed []string
	if most := c.Case.Most; most > 0 && c.Ratio.Median > most {
		missed = append(missed, fmt.Sprintf("%s, %d goroutines: %.2f of the time of %s, wanted at most %.2f",
			c.Case.Name, c.Goroutines, c.Ratio.Median, c.Case.Library, most))
	}
	// Rare allocations of the runtime itself, a pool refilled after a garbage
	// collection among them, are nobody's operation.
	if most := c.Case.Allocs; most >= 0 && c.Ours.Allocs > float64(most)+0.05 {
		missed = append(missed, fmt.Sprintf("%s, %d goroutines: %.2f allocations, wanted at most %d",
			c.Case.Name, c.Goroutines, c.Ours.Allocs, most))
	}
	return missed
}
