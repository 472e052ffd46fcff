//go:build unix

package cli_test

import (
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/retrylab/retrylab/downstream/stats"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// used is what a process has taken from the operating system.
type used struct {
	runtime         float64 // bytes that the Go runtime has
	resident, files float64 // bytes of the process, its open files; 0 where that is not known
}

// usage is what the process behind a URL has taken, by its own account.
func usage(t *testing.T, url string) used {
	t.Helper()
	response, err := http.Get(url + "/metrics")
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	read := func(name string) float64 {
		found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(text)
		if found == nil {
			return 0
		}
		v, err := strconv.ParseFloat(string(found[1]), 64)
		require.NoError(t, err)
		return v
	}
	return used{read("go_memstats_sys_bytes"), read("process_resident_memory_bytes"), read("process_open_fds")}
}

// 10,000 connections, or as many as there are file descriptors for, that do nothing cost the server a
// bounded memory each, disturb no call, and do not hold up the end.
func TestIdleConnectionsCostLittle(t *testing.T) {
	const wanted, spare, most = 10_000, 200, 32 << 10
	var files syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files))
	count := int(min(wanted+spare, files.Cur)) - spare // each side is a process of its own
	require.Positive(t, count, "the limit of open files is %d", files.Cur)

	p := startProgram(t, time.Minute, "downstream", "fixed-delay", "-p", "delay=100ms")
	var calls atomic.Int64
	stop := make(chan struct{})
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			transport := new(http.Transport)
			defer transport.CloseIdleConnections()
			for {
				response, err := (&http.Client{Transport: transport}).Get(p.url + "/call")
				if !assert.NoError(t, err) {
					return
				}
				_, err = io.Copy(io.Discard, response.Body)
				assert.NoError(t, err)
				response.Body.Close()
				assert.Equal(t, http.StatusOK, response.StatusCode)
				calls.Add(1)
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	before := usage(t, p.url)
	began := time.Now()
	addr, err := net.ResolveTCPAddr("tcp", strings.TrimPrefix(p.url, "http://"))
	require.NoError(t, err)
	conns := make([]*net.TCPConn, count)
	for i := range conns {
		conns[i], err = net.DialTCP("tcp", nil, addr)
		require.NoError(t, err)
		defer conns[i].Close()
		// One that has made a request may be idle for longer than one that never has.
		_, err = io.WriteString(conns[i], "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
		require.NoError(t, err)
	}
	for _, conn := range conns {
		answer := make([]byte, 512)
		n, err := conn.Read(answer)
		require.NoError(t, err)
		require.Contains(t, string(answer[:n]), "HTTP/1.1 200 OK")
	}
	opened := time.Since(began)
	then := usage(t, p.url)
	each := (then.runtime - before.runtime) / float64(count)
	if then.files > 0 { // known
		assert.GreaterOrEqual(t, then.files, float64(count), "all of them are open")
	}
	assert.Less(t, each, float64(most), "bytes for a connection")
	close(stop)
	callers.Wait()
	http.DefaultClient.CloseIdleConnections()

	ending := time.Now()
	var account stats.Snapshot
	assert.Zero(t, p.end(t, os.Interrupt, &account), p.log.String())
	ended := time.Since(ending)
	assert.EqualValues(t, calls.Load(), account.Finished)
	assert.Equal(t, account.Received, account.Finished, "no call was disturbed")
	assert.GreaterOrEqual(t, account.Dials, uint64(count))
	t.Logf("%d connections, opened in %v, %d calls beside them: %.0f bytes each (resident: %.0f); ended in %v",
		count, opened.Round(time.Millisecond), calls.Load(), each, (then.resident-before.resident)/float64(count), ended.Round(time.Millisecond))
}
