package compare

// Shape is the form of the file that a run was read from. It is told by the
// content; names of files say nothing about it.
type Shape string

// The shapes that are read.
const (
	// Export is the flat object of k6's --summary-export: it names no types, and
	// says true of a threshold that failed.
	Export Shape = "summary-export"
	// HandleSummary is the object that k6 gives to handleSummary.
	HandleSummary Shape = "handleSummary"
	// MachineReadable is the object of --new-machine-readable-summary, version 1.
	MachineReadable Shape = "machine-readable"
	// Samples is the stream of -o json: a line for each metric and each sample.
	Samples Shape = "samples"
	// Sketches is the file of --summary-sketches, version 1.
	Sketches Shape = "sketches"
	// Snapshot is the account of `retrylab serve`, or of the published experiment's
	// service.
	Snapshot Shape = "snapshot"
)
