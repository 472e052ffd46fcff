package compare

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

const aMetric = `{"type":"Metric","data":{"name":"a","type":"trend","contains":"time","thresholds":[],"submetrics":[{"name":"a{t:1}","tags":{"t":"1"}}]},"metric":"a"}` + "\n"

// lines is a stream that is made as it is read, each line with a tag of its own
// for as long as they are not to repeat.
type lines struct {
	next, end, tags int
	rest            []byte
}

func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) < len(p) && l.next < l.end {
		if l.next == 0 {
			l.rest = append(l.rest, aMetric...)
		}
		l.rest = fmt.Appendf(l.rest, `{"metric":"a","type":"Point","data":{"time":"2026-11-29T23:52:32.%09dZ","value":%d.25,"tags":{"t":"%d"}}}`+"\n", l.next, l.next%977, l.next%l.tags)
		l.next++
	}
	n := copy(p, l.rest)
	l.rest = append(l.rest[:0], l.rest[n:]...)
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func TestMemoryDoesNotGrowWithAStream(t *testing.T) {
	live := func(n, tags int) uint64 {
		c, err := parse(&lines{end: n, tags: tags})
		require.NoError(t, err)
		require.Equal(t, float64(n), c.metrics["a"].Values["count"])
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		runtime.KeepAlive(c)
		return m.HeapAlloc
	}
	for _, tags := range []int{7, 1 << 30} {
		short := live(40_000, tags)
		long := live(160_000, tags)
		require.Less(t, float64(long), float64(short)+4e6, "%d tags", tags)
	}
}

func BenchmarkSamples(b *testing.B) {
	file, err := os.Open("testdata/service/samples.json.gz")
	require.NoError(b, err)
	defer file.Close()
	plain, err := gzip.NewReader(file)
	require.NoError(b, err)
	data, err := io.ReadAll(plain)
	require.NoError(b, err)
	data = bytes.Repeat(data, 20)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := parse(bytes.NewReader(data)); err != nil {
			b.Fatal(err)
		}
	}
}
