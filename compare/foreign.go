package compare

// noPolicy says of which runs no figure of a policy is known.
func (n *noter) noPolicy() {
	var labels []string
	n.each(func(_ int, label string, run Run) {
		if _, ok := run.Metrics[requests]; !ok && run.Setup == nil {
			labels = append(labels, label)
		}
	})
	if len(labels) > 0 {
		n.add("no-policy", labels, nil, nil,
			"No count of requests in %s: neither the resilience metrics nor those of the published experiment. Name your own with --map, as in --map total_requests=my_requests.",
			scope(labels, n.total()))
	}
}
