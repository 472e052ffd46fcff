package modules

import (
	"embed"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
)

// libraries is where k6's own JavaScript libraries are published.
const libraries = "https://jslib.k6.io/"

// jslib has our own writing of such libraries, a file each.
//
//go:embed jslib/*.js
var jslib embed.FS

// library splits the address of a published library, https://jslib.k6.io/NAME/VERSION/…;
// every version means the same.
func library(specifier string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(specifier, libraries)
	if !ok {
		return "", false
	}
	name, _, _ = strings.Cut(rest, "/")
	return name, true
}

// libraryKey is a specifier as modules written in Go are known by: a published
// library has no version.
func libraryKey(specifier string) string {
	if name, ok := library(specifier); ok {
		return libraries + name
	}
	return specifier
}

// librarySource is our own source of a published library.
func librarySource(file string) ([]byte, bool) {
	name, ok := library(file)
	if !ok {
		return nil, false
	}
	src, err := jslib.ReadFile("jslib/" + name + ".js")
	return src, err == nil
}

// gone says for the modules that k6 has removed what came in their place.
func gone(specifier string) string {
	switch specifier {
	case "k6/experimental/browser":
		return "k6/browser, which the built-in runner has not"
	case "k6/experimental/grpc":
		return "k6/net/grpc, which the built-in runner has not"
	case "k6/experimental/redis":
		return "k6/x/redis, which the built-in runner has not"
	case "k6/experimental/timers":
		return "the global setTimeout and its like, or k6/timers"
	case "k6/experimental/tracing":
		return "the library http-instrumentation-tempo, which the built-in runner has not"
	case "k6/experimental/webcrypto":
		return "the global crypto"
	}
	return ""
}

// resolvePath is the file, or the published library, that a specifier means in
// the file from. It reads nothing. The path of a file is absolute and clean.
func resolvePath(from, specifier string) (string, error) {
	switch {
	case specifier == "":
		return "", errors.New("want a module's name or a path")
	case specifier == "k6" || strings.HasPrefix(specifier, "k6/"):
		if instead := gone(specifier); instead != "" {
			return "", fmt.Errorf("k6 has removed %s; in its place came %s", specifier, instead)
		}
		return "", fmt.Errorf("%s is not in the built-in runner; %s", specifier, useK6)
	case strings.HasPrefix(specifier, libraries):
		name := libraryKey(specifier)
		if _, ok := librarySource(name); !ok {
			return "", fmt.Errorf("of the libraries at %s the built-in runner has k6-summary and k6-utils; keep a local copy of the other, or %s", libraries, useK6)
		}
		return name, nil
	case strings.HasPrefix(specifier, "file://"):
		specifier = path.Join("/", strings.TrimPrefix(specifier, "file://"))
	case strings.Contains(specifier, "://"):
		return "", fmt.Errorf("the built-in runner fetches no remote modules; keep a local copy, or %s", useK6)
	case !slices.ContainsFunc([]string{"./", "../", "/"}, func(prefix string) bool { return strings.HasPrefix(specifier, prefix) }):
		return "", errors.New("want a k6 module or a path that begins with ./, ../ or /")
	}
	if text, err := url.PathUnescape(specifier); err == nil {
		specifier = text
	}
	if strings.HasPrefix(specifier, "/") {
		return path.Clean(specifier), nil
	}
	return path.Join("/", path.Dir(from), specifier), nil
}
