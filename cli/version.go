package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// release is the version of the sources; the changelog has the same.
const release = "0.1.0"

type versionCmd struct{}

func (versionCmd) Run(s *session) error {
	_, err := fmt.Fprintf(s.Out, "retrylab %s (%s, %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// version is the release, with the commit where the build recorded it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && len(setting.Value) >= 12 {
			return release + "+" + setting.Value[:12]
		}
	}
	return release
}
