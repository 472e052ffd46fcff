package service_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/retrylab/retrylab/resilience"
	"github.com/retrylab/retrylab/service"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Once a chain waited without end for a body that never came.
func TestStalledBodiesDoNotHoldUpAChain(t *testing.T) {
	c, err := service.StartChain(service.ChainConfig{
		Next: "http://127.0.0.1:1", Tiers: []service.Tier{{Policy: resilience.Config{Name: "bare"}}},
	})
	require.NoError(t, err)
	var stalled []net.Conn
	for _, route := range []string{"POST /call", "PUT /scenario", "POST /tiers", "POST //call", "OPTIONS *"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(c.URL(), "http://"))
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.Write([]byte(route + " HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n"))
		require.NoError(t, err)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(10*time.Second)))
		continued, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		require.Equal(t, 100, continued.StatusCode, "the body is waited for")
		stalled = append(stalled, conn)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	assert.NoError(t, c.Close(ctx))
	for _, conn := range stalled {
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if assert.NoError(t, err) {
			assert.Equal(t, 408, answer.StatusCode)
			assert.NoError(t, answer.Body.Close())
		}
	}
	assert.Zero(t, c.Stats().Tiers[0].Calls)
}
