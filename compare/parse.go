package compare

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	// maxFile bounds the bytes that are read of one summary, which have thousands.
	maxFile = 64 << 20
	// bufferSize is how much of a file is looked at to tell its shape.
	bufferSize = 64 << 10
)

// content is what a file says of a run.
type content struct {
	shape   Shape
	metrics Metrics
	// parts are what metrics were made of, where the shape has it.
	parts *aggregate
	// rootGroup is the tree of groups and checks of a plain summary, unread; nil
	// where it has none.
	rootGroup json.RawMessage
	// segment is the part of a divided run that this is, as from:to; empty if it
	// is not known.
	segment string
	// seconds is the time of the run; 0 if it is not known.
	seconds float64
}

// parse reads the content of a file whatever its shape, which its first bytes
// and its keys tell. It may be compressed by gzip, and begin with a byte order
// mark. The error does not name the file.
func parse(r io.Reader) (content, error) {
	in, err := plain(r)
	if err != nil {
		return content{}, err
	}
	head, _ := in.Peek(bufferSize)
	if startsSamples(head) {
		parts, err := readSamples(in)
		if err != nil {
			return content{}, fmt.Errorf("not a stream of samples: %w", err)
		}
		return whole(Samples, parts), nil
	}
	data, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return content{}, err
	}
	if len(data) > maxFile {
		return content{}, fmt.Errorf("longer than %d bytes", maxFile)
	}
	return parseObject(data)
}

// plain is the text of a file, decompressed and without a byte order mark.
func plain(r io.Reader) (*bufio.Reader, error) {
	in := bufio.NewReaderSize(r, bufferSize)
	if head, _ := in.Peek(2); string(head) == "\x1f\x8b" {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		in = bufio.NewReaderSize(z, bufferSize)
	}
	head, _ := in.Peek(3)
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		_, err := in.Discard(3)
		return in, err
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return nil, errors.New("it is UTF-16, as PowerShell's > writes: only UTF-8 is read")
	}
	return in, nil
}

// parseObject reads a file that is one JSON object.
func parseObject(data []byte) (content, error) {
	var top object
	if err := json.Unmarshal(data, &top); err != nil {
		return content{}, fmt.Errorf("not a k6 summary: %w", err)
	}
	switch {
	case top.text("format") == "retrylab-sketches":
		return readSketches(data)
	case top.get("results") != nil && top.get("version") != nil:
		metrics, err := readMachine(top)
		return content{shape: MachineReadable, metrics: metrics}, err
	case top.get("metrics") != nil:
		return parseSummary(top)
	case top.get("totalRequests") != nil:
		metrics, err := readSnapshot(top)
		return content{shape: Snapshot, metrics: metrics}, err
	case top.text("schema") != "":
		return content{}, fmt.Errorf("not a k6 summary: its schema is %s", quoted(top.text("schema")))
	}
	return content{}, errors.New(`not a k6 summary: no "metrics" in it`)
}

// parseSummary reads --summary-export and the handleSummary object.
func parseSummary(top object) (content, error) {
	metrics, shape, err := readMetrics(top.get("metrics"))
	if err != nil {
		return content{}, err
	}
	c := content{shape: shape, metrics: metrics, rootGroup: top.get("root_group")}
	if state := top.get("state"); state != nil {
		var s struct {
			TestRunDurationMs float64 `json:"testRunDurationMs"`
		}
		if err := json.Unmarshal(state, &s); err != nil {
			return content{}, fmt.Errorf("state: %w", err)
		}
		c.seconds = s.TestRunDurationMs / 1000
		if len(metrics) == 0 {
			c.shape = HandleSummary
		}
	}
	return c, nil
}

// whole is the content of a file that can be merged without loss.
func whole(shape Shape, parts *aggregate) content {
	return content{shape: shape, metrics: parts.metrics(), parts: parts, seconds: parts.seconds()}
}
