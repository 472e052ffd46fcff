package retrylab_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

const module = "github.com/retrylab/retrylab"

// mayImport is the table of docs/design.md, section 3: which room may use
// which others. Every room may use its own subpackages.
var mayImport = map[string][]string{
	"resilience": {},
	"theory":     {},
	"downstream": {},
	"scripts":    {},
	"service":    {"resilience", "downstream"},
	"jsmodule":   {"resilience", "downstream", "service"},
	"runner":     {"jsmodule"},
	"compare":    {"theory"},
	"lab":        {"downstream", "service", "resilience/catalog", "scripts"},
	"cli":        {"resilience", "downstream", "service", "jsmodule", "runner", "lab", "theory", "compare", "scripts"},
	"cmd":        {"cli"},
}

func TestPackagesImportOnlyWhatTheDesignAllows(t *testing.T) {
	files := 0
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != "." {
			_, err := os.Stat(filepath.Join(file, "go.mod"))
			if err == nil || d.Name() == "testdata" || d.Name()[0] == '.' {
				return fs.SkipDir // another module, or none
			}
		}
		if d.IsDir() || path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		files++
		room, _, _ := strings.Cut(filepath.ToSlash(file), "/")
		allowed, known := mayImport[room]
		if !assert.True(t, known, "%s: the design knows no room %q", file, room) {
			return nil
		}
		for _, imported := range importsOf(t, file) {
			if !within(imported, append([]string{room}, allowed...)) {
				t.Errorf("%s imports %s: %s may use only itself and %q", file, imported, room, allowed)
			}
		}
		return nil
	})
	require.NoError(t, err)
	assert.Greater(t, files, 50, "the walk saw the sources")
}

// xk6 takes the extension's go.mod as it is and ignores a replace in it. The
// tests' own go.ci.mod must be the same module with other sources.
func TestExtensionIsAModuleThatXk6CanBuild(t *testing.T) {
	read := func(file string) *modfile.File {
		data, err := os.ReadFile(filepath.Join("xk6-resilience", file))
		require.NoError(t, err)
		mod, err := modfile.Parse(file, data, nil)
		require.NoError(t, err)
		return mod
	}
	requires := func(mod *modfile.File) map[string]string {
		versions := make(map[string]string)
		for _, r := range mod.Require {
			versions[r.Mod.Path] = r.Mod.Version
		}
		return versions
	}
	own, ci := read("go.mod"), read("go.ci.mod")
	assert.Empty(t, own.Replace)
	assert.Equal(t, module+"/xk6-resilience", own.Module.Mod.Path)
	assert.Equal(t, own.Module.Mod.Path, ci.Module.Mod.Path)
	assert.Equal(t, own.Go.Version, ci.Go.Version)
	assert.Subset(t, requires(ci), requires(own))
	assert.Contains(t, requires(own), "go.k6.io/k6/v2")
	pins := k6Pins(t)
	for path, version := range requires(own) {
		if pin, ok := pins[path]; ok {
			assert.LessOrEqual(t, semver.Compare(version, pin), 0, "%s %s is newer than k6's %s", path, version, pin)
		}
	}
	replaced := make(map[string]string)
	for _, r := range ci.Replace {
		replaced[r.Old.Path] = r.New.Path
	}
	assert.Equal(t, map[string]string{module: "../", "go.k6.io/k6/v2": "./testdata/k6api"}, replaced)

	sources, err := filepath.Glob("xk6-resilience/*.go")
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(sources), 2)
	for _, file := range sources {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, imported := range importsOf(t, file) {
			assert.True(t, within(imported, []string{"jsmodule", "go.k6.io/k6/v2"}), "%s imports %s", file, imported)
		}
	}
}

// importsOf lists the packages of this module that a file imports, without
// the module's name, and k6's packages in full.
func importsOf(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	require.NoError(t, err)
	var imports []string
	for _, spec := range parsed.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		if own, ok := strings.CutPrefix(name, module+"/"); ok {
			imports = append(imports, own)
		} else if strings.HasPrefix(name, "go.k6.io/") {
			imports = append(imports, name)
		}
	}
	return imports
}

func within(imported string, rooms []string) bool {
	return slices.ContainsFunc(rooms, func(room string) bool {
		return imported == room || strings.HasPrefix(imported, room+"/")
	})
}

func TestWithinSeesForbiddenImports(t *testing.T) {
	assert.True(t, within("downstream/faults", []string{"downstream"}))
	assert.False(t, within("downstreamer", []string{"downstream"}))
	assert.False(t, within("resilience", []string{"resilience/catalog"}))
	assert.False(t, within("go.k6.io/k6/v2/js/modules", mayImport["jsmodule"]))
}

// The root module becomes part of users' own k6 builds, where the newest
// version that anybody asks for wins: it must not force a newer one on k6.
func TestNoDependencyIsNewerThanTheOneThatK6Pins(t *testing.T) {
	data, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	mod, err := modfile.Parse("go.mod", data, nil)
	require.NoError(t, err)
	pins := k6Pins(t)
	assert.LessOrEqual(t, semver.Compare("v"+mod.Go.Version, "v1.25.0"), 0, "go %s: k6 v2.2.0 asks for 1.25.0", mod.Go.Version)
	shared := 0
	for _, r := range mod.Require {
		assert.NotContains(t, r.Mod.Path, "go.k6.io/", "k6 is AGPL and never a dependency of this module")
		pin, ok := pins[r.Mod.Path]
		if !ok {
			continue
		}
		shared++
		assert.LessOrEqual(t, semver.Compare(r.Mod.Version, pin), 0, "%s %s is newer than k6's %s", r.Mod.Path, r.Mod.Version, pin)
	}
	assert.Greater(t, shared, 5, "the table and go.mod share modules")
}

// k6Pins reads the table below.
func k6Pins(t *testing.T) map[string]string {
	t.Helper()
	pins := make(map[string]string)
	for line := range strings.Lines(k6Requires) {
		if fields := strings.Fields(line); len(fields) > 0 {
			require.Len(t, fields, 2)
			pins[fields[0]] = fields[1]
		}
	}
	return pins
}

// k6Requires are the modules that k6 v2.2.0 requires, with its versions.
const k6Requires = `
	buf.build/gen/go/gogo/protobuf/protocolbuffers/go v1.36.11-20240617172848-e1dbca2775a7.1
	buf.build/gen/go/prometheus/prometheus/protocolbuffers/go v1.36.11-20260707164124-2360da55afce.1
	github.com/Azure/go-ntlmssp v0.1.1
	github.com/Masterminds/semver/v3 v3.5.0
	github.com/PuerkitoBio/goquery v1.12.0
	github.com/Soontao/goHttpDigestClient v0.0.0-20170320082612-6d28bb1415c5
	github.com/andybalholm/brotli v1.2.2
	github.com/andybalholm/cascadia v1.3.3
	github.com/beorn7/perks v1.0.1
	github.com/bufbuild/protocompile v0.14.1
	github.com/cenkalti/backoff/v5 v5.0.3
	github.com/cespare/xxhash/v2 v2.3.0
	github.com/chromedp/cdproto v0.0.0-20250803210736-d308e07a266d
	github.com/chromedp/sysutil v1.1.0
	github.com/davecgh/go-spew v1.1.1
	github.com/dlclark/regexp2/v2 v2.5.2
	github.com/evanw/esbuild v0.28.1
	github.com/fatih/color v1.19.0
	github.com/go-json-experiment/json v0.0.0-20250211171154-1ae217ad3535
	github.com/go-logr/logr v1.4.3
	github.com/go-logr/stdr v1.2.2
	github.com/go-sourcemap/sourcemap v2.1.4+incompatible
	github.com/golang/protobuf v1.5.4
	github.com/google/pprof v0.0.0-20260115054156-294ebfa9ad83
	github.com/google/uuid v1.6.0
	github.com/gorilla/websocket v1.5.3
	github.com/grafana/k6-cloud-openapi-client-go v0.0.3-0.20260716125012-97c96146fa7c
	github.com/grafana/k6provider v0.5.0
	github.com/grafana/sobek v0.0.0-20260727154728-7781506a890f
	github.com/grafana/sobek-webapi-encoding v0.1.0
	github.com/grafana/xk6-dashboard-assets v0.1.2
	github.com/grpc-ecosystem/go-grpc-middleware v1.4.0
	github.com/grpc-ecosystem/grpc-gateway/v2 v2.29.0
	github.com/inconshreveable/mousetrap v1.0.0
	github.com/influxdata/influxdb1-client v0.0.0-20190402204710-8ff2fc3824fc
	github.com/jhump/protoreflect v1.18.0
	github.com/jhump/protoreflect/v2 v2.0.0-beta.1
	github.com/klauspost/compress v1.19.1
	github.com/mattn/go-colorable v0.1.15
	github.com/mattn/go-isatty v0.0.24
	github.com/mccutchen/go-httpbin/v2 v2.25.0
	github.com/mstoykov/atlas v0.0.0-20220811071828-388f114305dd
	github.com/mstoykov/envconfig v1.5.0
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822
	github.com/nu7hatch/gouuid v0.0.0-20131221200532-179d4d0c4d8d
	github.com/nxadm/tail v1.4.11
	github.com/onsi/ginkgo v1.16.5
	github.com/onsi/gomega v1.39.1
	github.com/pkg/browser v0.0.0-20240102092130-5ac0b6a4141c
	github.com/pmezard/go-difflib v1.0.0
	github.com/prometheus/client_golang v1.24.1
	github.com/prometheus/client_model v0.6.2
	github.com/prometheus/common v0.70.1
	github.com/prometheus/procfs v0.21.1
	github.com/r3labs/sse/v2 v2.10.0
	github.com/serenize/snaker v0.0.0-20201027110005-a7ad2135616e
	github.com/sirupsen/logrus v1.9.3
	github.com/spf13/afero v1.1.2
	github.com/spf13/cobra v1.4.0
	github.com/spf13/pflag v1.0.5
	github.com/stretchr/testify v1.11.1
	github.com/tidwall/gjson v1.19.0
	github.com/tidwall/match v1.1.1
	github.com/tidwall/pretty v1.2.1
	go.opentelemetry.io/auto/sdk v1.2.1
	go.opentelemetry.io/otel v1.44.0
	go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc v1.44.0
	go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp v1.44.0
	go.opentelemetry.io/otel/exporters/otlp/otlptrace v1.44.0
	go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc v1.44.0
	go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp v1.44.0
	go.opentelemetry.io/otel/metric v1.44.0
	go.opentelemetry.io/otel/sdk v1.44.0
	go.opentelemetry.io/otel/sdk/metric v1.44.0
	go.opentelemetry.io/otel/trace v1.44.0
	go.opentelemetry.io/proto/otlp v1.11.0
	go.uber.org/goleak v1.3.0
	golang.org/x/crypto v0.55.0
	golang.org/x/crypto/x509roots/fallback v0.0.0-20260811175631-f44d03d253a1
	golang.org/x/net v0.58.0
	golang.org/x/sync v0.22.0
	golang.org/x/sys v0.47.0
	golang.org/x/term v0.45.0
	golang.org/x/text v0.41.0
	golang.org/x/time v0.15.0
	google.golang.org/genproto/googleapis/api v0.0.0-20260720211330-0afa2a65878a
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260720211330-0afa2a65878a
	google.golang.org/grpc v1.83.0
	google.golang.org/protobuf v1.36.11
	gopkg.in/cenkalti/backoff.v1 v1.1.0
	gopkg.in/guregu/null.v3 v3.3.0
	gopkg.in/validator.v2 v2.0.1
	gopkg.in/yaml.v3 v3.0.1
`
