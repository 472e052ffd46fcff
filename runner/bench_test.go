package runner_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/runner"
	"github.com/retrylab/retrylab/runner/internal/scripttest"
)

// BenchmarkIterations runs b.N iterations of scripts; the time is that of one.
func BenchmarkIterations(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"ok":true}`) }))
	defer s.Close()
	for name, body := range map[string]string{
		"empty": "",
		"check": "check(1, {one: (v) => v === 1, two: true});",
		"http":  "const r = http.get(__ENV.U); check(r, {ok: (r) => r.status === 200});",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			out := scripttest.Run(b, "import http from 'k6/http'; import { check } from 'k6'; export default function () { "+body+" }", func(c *runner.Config) {
				c.Env = map[string]string{"U": s.URL}
				c.Environ = []string{"K6_ITERATIONS=" + strconv.Itoa(b.N)}
			})
			require.NoError(b, out.Err)
		})
	}
}
