package metrics

// DefaultSystemTags are the names of the tags that samples get by themselves
// unless the option systemTags says otherwise, in order.
func DefaultSystemTags() []string {
	return []string{
		"check", "error", "error_code", "expected_response", "group", "method", "name", "proto",
		"scenario", "service", "status", "subproto", "tls_version", "url",
	}
}

// IsSystemMetadata says whether k6 keeps a system tag of that name apart from
// the tags, since it is another in each sample. Samples get it on request alone.
func IsSystemMetadata(name string) bool { return name == "iter" || name == "vu" }
