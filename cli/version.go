package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// release is the version that the sources lead up to.
const release = "0.1.0"

type versionCmd struct{}

func (versionCmd) Run(s *session) error {
	_, err := fmt.Fprintln(s.Out, versionLine())
	return err
}

func versionLine() string {
	return fmt.Sprintf("retrylab %s (%s, %s/%s)", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
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
