package cli_test

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/retrylab/retrylab/service"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var loadTime = flag.Duration("load", time.Second, "how long TestServeUnderLoad lasts; 30s is the acceptance run")

// tally is what callers have been answered.
type tally struct {
	requests, successes, calls, timeouts int
}

func (t *tally) add(o tally) {
	t.requests += o.requests
	t.successes += o.successes
	t.calls += o.calls
	t.timeouts += o.timeouts
}

// told is the service's own account, as far as a caller can know it.
func told(s service.Snapshot) tally {
	return tally{s.TotalRequests, s.SuccessfulRequests, s.DownstreamCalls, s.TimeoutCount}
}

// answers makes requests, one after another, until one has no answer or more returns false.
func answers(c *http.Client, url string, more func() bool) (sum tally, err error) {
	for more() {
		response, err := c.Get(url)
		if err != nil {
			return sum, err
		}
		_, err = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if err != nil {
			return sum, err
		}
		one := tally{requests: 1}
		if response.StatusCode == http.StatusOK {
			one.successes = 1
		}
		for header, count := range map[string]*int{"X-Downstream-Calls": &one.calls, "X-Timeout-Count": &one.timeouts} {
			if *count, err = strconv.Atoi(response.Header.Get(header)); err != nil {
				return sum, err
			}
		}
		sum.add(one)
	}
	return sum, nil
}

// Under 200 connections the service counts what its callers count. When it is ended in the middle of the
// load, every request that it has begun is answered: the account that it prints is the callers'.
func TestServeUnderLoad(t *testing.T) {
	const connections = 200
	p := startProgram(t, *loadTime+time.Minute, "serve", "--addr", "127.0.0.1:0")
	var dials atomic.Int64
	var dialer net.Dialer
	clients := make([]*http.Client, connections)
	for i := range clients {
		transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials.Add(1)
			return dialer.DialContext(ctx, network, addr)
		}}
		defer transport.CloseIdleConnections()
		clients[i] = &http.Client{Transport: transport}
	}
	policies := []string{"no-retry-standard-timeout", "immediate-retry", "exponential-backoff", "jitter"}
	load := func(more func(caller int) bool, ended func(error)) (sum tally) {
		var mu sync.Mutex
		var callers sync.WaitGroup
		for i, c := range clients {
			url := p.url + "/api/work?scenario=random-failures&policy=" + policies[i%len(policies)]
			callers.Go(func() {
				got, err := answers(c, url, func() bool { return more(i) })
				ended(err)
				mu.Lock()
				defer mu.Unlock()
				sum.add(got)
			})
		}
		callers.Wait()
		return sum
	}

	begin := time.Now()
	before := load(
		func(int) bool { return time.Since(begin) < *loadTime },
		func(err error) { assert.NoError(t, err) },
	)
	took := time.Since(begin)
	assert.EqualValues(t, connections, dials.Load(), "a connection each")
	response, err := clients[0].Get(p.url + "/api/metrics")
	require.NoError(t, err)
	defer response.Body.Close()
	var seen service.Snapshot
	require.NoError(t, json.NewDecoder(response.Body).Decode(&seen))
	assert.Equal(t, before, told(seen))
	assert.Zero(t, seen.CurrentInflightDownstream)

	var begun sync.WaitGroup // callers that have been answered once
	begun.Add(connections)
	asked := make([]int, connections)
	var signalled, late atomic.Int64
	sums := make(chan tally, 1)
	go func() {
		sums <- load(func(caller int) bool {
			if asked[caller]++; asked[caller] == 2 {
				begun.Done()
			}
			late.Add(signalled.Load()) // one more answer after the signal
			return true
		}, func(err error) { assert.Error(t, err) })
	}()
	begun.Wait()
	signalled.Store(1)
	ending := time.Now()
	var account service.Snapshot
	assert.Zero(t, p.end(t, syscall.SIGTERM, &account), p.log.String())
	drained := time.Since(ending)
	after := <-sums
	all := before
	all.add(after)
	assert.Equal(t, all, told(account))
	assert.NotZero(t, late.Load(), "requests were in progress")
	assert.Zero(t, account.CurrentInflightDownstream)
	assert.Less(t, drained, 10*time.Second)
	t.Logf("%v: %+v (%.0f/s); then %+v, %d of them after SIGTERM; drained in %v",
		took.Round(time.Millisecond), before, float64(before.requests)/took.Seconds(), after, late.Load(), drained.Round(time.Millisecond))
}
