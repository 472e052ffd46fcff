package executor

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseSegment(t *testing.T) {
	for text, want := range map[string]string{
		"": "0:1", "1": "0:1", "1/4": "0:1/4", "1/4:1/2": "1/4:1/2", "10%:20%": "1/10:1/5",
		"0.25:0.5": "1/4:1/2", " 1/3 : 2/3 ": "1/3:2/3", "33.3%": "0:333/1000",
	} {
		s, err := ParseSegment(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, s.String(), text)
	}
	for _, text := range []string{":", "1/2:1/2", "1/2:1/4", "-1/4:1/2", "0:5/4", "a", "1/0", "0:1:2", "1e400", "120%", "0x1", "1_0%"} {
		_, err := ParseSegment(text)
		assert.Error(t, err, text)
	}
}

func TestSequence(t *testing.T) {
	quarter, err := ParseSegment("1/4:1/2")
	require.NoError(t, err)
	require.NoError(t, CheckSequence("", quarter))
	require.NoError(t, CheckSequence("0,1/4,50%,1", quarter))
	assert.ErrorContains(t, CheckSequence("0,1/2,1", quarter), `segment 1/4:1/2 is none of the sequence "0,1/2,1"`)
	assert.ErrorContains(t, CheckSequence("0,1/4,1/2", quarter), "from 0 to 1")
	assert.ErrorContains(t, CheckSequence("0,1/2,1/4,1", quarter), "1/4 does not follow 1/2")
	assert.ErrorContains(t, CheckSequence("0,x,1", quarter), `"x"`)
}

// drawSegments cuts the whole into segments.
func drawSegments(t *rapid.T) []Segment {
	n := rapid.Int64Range(1, 40).Draw(t, "parts of")
	cuts := rapid.SliceOfDistinct(rapid.Int64Range(1, max(n-1, 1)), rapid.ID).Draw(t, "cuts")
	bounds := map[int64]bool{0: true, n: true}
	for _, c := range cuts {
		bounds[c] = true
	}
	var out []Segment
	last := int64(0)
	for i := int64(1); i <= n; i++ {
		if bounds[i] {
			out = append(out, Segment{big.NewRat(last, n), big.NewRat(i, n)})
			last = i
		}
	}
	return out
}

func TestSegmentsAddUpToTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		segments := drawSegments(t)
		n := rapid.Int64Range(0, 1e12).Draw(t, "n")
		sum := int64(0)
		for _, s := range segments {
			sum += s.Scale(n)
		}
		if sum != n {
			t.Fatalf("%v: %d of %d", segments, sum, n)
		}
		for i := range int64(200) {
			owners := 0
			for _, s := range segments {
				if s.Has(i) {
					owners++
				}
			}
			if owners != 1 {
				t.Fatalf("%v: %d has %d owners", segments, i, owners)
			}
		}
	})
}

// A stretch of a row belongs to a segment by its share, but for a few.
func TestRowsAreSharedEvenly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom(drawSegments(t)).Draw(t, "segment")
		row := s.Row()
		first := row.Next()
		const n = 500
		last := first
		for range n - 1 {
			last = row.Next()
		}
		got := float64(n) / float64(last-first+1)
		if got < s.Share()*0.96 || got > s.Share()*1.04 {
			t.Fatalf("%s has %.4f of the row, its share is %.4f", s, got, s.Share())
		}
	})
}

func FuzzParseSegment(f *testing.F) {
	for _, s := range []string{"", "1/4", "0:1", "10%:20%", "1/0", "9999999999999999999999999999/3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSegment(text)
		if err != nil {
			return
		}
		if share := s.Share(); !(share >= 0 && share <= 1) {
			t.Fatalf("%q: share %v", text, share)
		}
		s.Has(12345)
		if n := s.Scale(1000); n < 0 || n > 1000 {
			t.Fatalf("%q: %d of 1000", text, n)
		}
	})
}
