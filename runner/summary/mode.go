package summary

import (
	"fmt"
	"strings"
)

// Mode is how much a summary tells.
type Mode string

// The modes. Legacy is of k6's releases before 2.0, which has dropped it.
const (
	Compact  Mode = "compact"  // the usual: without the phases of a request
	Full     Mode = "full"     // with them, and with each group and scenario
	Legacy   Mode = "legacy"   // every metric in one list
	Disabled Mode = "disabled" // no text, and no call of handleSummary
)

// ParseMode is the mode of that name, Compact if the name is empty.
func ParseMode(name string) (Mode, error) {
	switch m := Mode(name); m {
	case "":
		return Compact, nil
	case Compact, Full, Legacy, Disabled:
		return m, nil
	}
	return "", fmt.Errorf("summary mode %q is none of %s, %s, %s, %s", name, Compact, Full, Legacy, Disabled)
}

// sections are the titles over the metrics, in their order in the text; in the
// machine-readable summary custom ones come last.
const (
	custom    = "CUSTOM"
	http      = "HTTP"
	execution = "EXECUTION"
	network   = "NETWORK"
)

// section is the title that a metric or submetric stands under; empty if the
// mode does not show it.
func (m Mode) section(name string) string {
	name, _, _ = strings.Cut(name, "{")
	switch name {
	case "checks", "group_duration":
		return ""
	case "http_req_blocked", "http_req_connecting", "http_req_tls_handshaking",
		"http_req_sending", "http_req_waiting", "http_req_receiving":
		if m == Compact || m == "" {
			return ""
		}
		return http
	case "http_reqs", "http_req_failed", "http_req_duration":
		return http
	case "vus", "vus_max", "iterations", "iteration_duration", "dropped_iterations":
		return execution
	case "data_sent", "data_received":
		return network
	}
	return custom
}

// bySection are the metrics that the mode shows, under their titles.
func (m Mode) bySection(metrics []Metric) map[string][]Metric {
	out := make(map[string][]Metric)
	for _, metric := range metrics {
		if title := m.section(metric.Name); title != "" {
			out[title] = append(out[title], metric)
		}
	}
	return out
}
