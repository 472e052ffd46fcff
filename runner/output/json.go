package output

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/retrylab/retrylab/runner/metrics"
	"github.com/retrylab/retrylab/runner/thresholds"
)

// ndjson writes a line for each metric, when its first sample comes, and one
// for each sample.
type ndjson struct {
	thresholds map[string][]thresholds.Spec
	file       string
	log        logrus.FieldLogger

	heads  map[*metrics.Metric][]byte // the beginning of a sample's line
	tags   cached[[]byte]             // the end of it
	number []byte
	left   int // samples that JSON cannot hold
}

func (j *ndjson) begin(*bufio.Writer) {
	j.heads, j.tags = make(map[*metrics.Metric][]byte), make(cached[[]byte])
}

func (j *ndjson) write(w *bufio.Writer, s *metrics.Sample) {
	if math.IsInf(s.Value, 0) {
		j.left++
		return
	}
	head, ok := j.heads[s.Metric]
	if !ok {
		_, _ = w.Write(j.describe(s.Metric))
		_ = w.WriteByte('\n')
		head = []byte(`{"metric":` + string(encoded(s.Metric.Name)) + `,"type":"Point","data":{"time":"`)
		j.heads[s.Metric] = head
	}
	_, _ = w.Write(head)
	j.number = time.Unix(0, s.Time).UTC().AppendFormat(j.number[:0], time.RFC3339Nano)
	j.number = append(j.number, `","value":`...)
	j.number = appendNumber(j.number, s.Value)
	_, _ = w.Write(j.number)
	_, _ = w.Write(j.tags.get(s.Tags, tail))
}

// tail is the end of a sample's line: its tags and metadata.
func tail(set *metrics.TagSet) []byte {
	tags, metadata := make(map[string]string), make(map[string]string)
	for _, t := range set.Tags() {
		if metrics.IsSystemMetadata(t.Key) {
			metadata[t.Key] = t.Value
		} else {
			tags[t.Key] = t.Value
		}
	}
	b := append([]byte(`,"tags":`), encoded(tags)...)
	if len(metadata) > 0 {
		b = append(append(b, `,"metadata":`...), encoded(metadata)...)
	}
	return append(b, "}}\n"...)
}

func (j *ndjson) end() {
	if j.left > 0 && j.log != nil {
		j.log.Warnf("the json output %q has no line for %d samples with an infinite value, which JSON cannot hold", j.file, j.left)
	}
}

// describe is the line of a metric.
func (j *ndjson) describe(m *metrics.Metric) []byte {
	type submetric struct {
		Name   string            `json:"name"`
		Suffix string            `json:"suffix"`
		Tags   map[string]string `json:"tags"`
	}
	type data struct {
		Name       string      `json:"name"`
		Type       string      `json:"type"`
		Contains   string      `json:"contains"`
		Thresholds []any       `json:"thresholds"`
		Submetrics []submetric `json:"submetrics"`
	}
	d := data{Name: m.Name, Type: m.Kind.String(), Contains: m.Contains.String(), Thresholds: []any{}}
	for _, spec := range j.thresholds[m.Name] {
		d.Thresholds = append(d.Thresholds, criterion(spec))
	}
	for _, sub := range m.Submetrics() {
		_, suffix, _ := strings.Cut(strings.TrimSuffix(sub.Name, "}"), "{")
		tags := make(map[string]string, len(sub.Filter))
		for _, t := range sub.Filter {
			tags[t.Key] = t.Value
		}
		d.Submetrics = append(d.Submetrics, submetric{sub.Name, suffix, tags})
	}
	return encoded(struct {
		Type   string `json:"type"`
		Data   data   `json:"data"`
		Metric string `json:"metric"`
	}{"Metric", d, m.Name})
}

// criterion is a threshold as k6 writes it: its text, or an object if it ends
// the run.
func criterion(s thresholds.Spec) any {
	if !s.AbortOnFail {
		return s.Source
	}
	var delay *string
	if s.DelayAbortEval != 0 {
		text := s.DelayAbortEval.String()
		delay = &text
	}
	return struct {
		Threshold      string  `json:"threshold"`
		AbortOnFail    bool    `json:"abortOnFail"`
		DelayAbortEval *string `json:"delayAbortEval"`
	}{s.Source, true, delay}
}

// encoded is the JSON of texts, lists and objects of them, `<` and `&` as they
// are.
func encoded(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // texts always have JSON
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

// appendNumber appends a finite number as encoding/json writes it: without an
// exponent unless it is below 1e-6 or from 1e21 on.
func appendNumber(b []byte, v float64) []byte {
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(b, v, format, -1, 64)
}
