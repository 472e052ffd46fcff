package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/retrylab/retrylab/downstream"
	"github.com/retrylab/retrylab/service"
)

type serveCmd struct {
	Addr         string `default:"127.0.0.1:8080" help:"Where to listen; port 0 is a free one. Default: ${default}."`
	Public       bool   `help:"Allow an address beyond loopback."`
	Policies     string `placeholder:"FILE" help:"Policies of your own, beside the built-in ones."`
	Seed         uint64 `default:"1" help:"Of the fates of the downstreams' calls. Default: ${default}."`
	Cancellation string `default:"mid-work" enum:"ignore,at-dequeue,mid-work" help:"What a downstream does with a call whose caller is gone: ${enum}. Default: ${default}, as the published lab."`
}

// Help is the long help.
func (serveCmd) Help() string {
	return `Examples:
  retrylab serve
  retrylab serve --addr 127.0.0.1:0 --policies my-policies.yaml

GET /api/work?policy=jitter&scenario=random-failures makes one request through a policy: 200 or 503, with
its cost in the headers X-Attempts, X-Downstream-Calls, X-Timeout-Count, X-Circuit-Breaker-Rejected,
X-Bulkhead-Rejected, X-Attempt-Latencies-Ms. GET /api/metrics is the account of all requests, POST
/api/reset forgets them. SIGINT and SIGTERM end the requests in progress first.`
}

func (c serveCmd) Run(s *session) error {
	known, err := policies(c.Policies)
	if err != nil {
		return invalid(err)
	}
	cancellation, err := downstream.ParseCancellation(c.Cancellation)
	if err != nil {
		return invalid(err)
	}
	listener, err := downstream.Bind(c.Addr, c.Public)
	if err != nil {
		return invalid(err)
	}
	app := service.New(service.Config{Policies: known, Cancellation: cancellation, Seed: c.Seed, Logger: s.log})
	return serveHTTP(s, listener, app, app.Close)
}

// serveHTTP serves until the session is interrupted, and drains.
func serveHTTP(s *session, listener net.Listener, handler http.Handler, end func(context.Context) error) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	fmt.Fprintf(s.Err, "serving at http://%s/api/work?policy=jitter&scenario=random-failures\n", listener.Addr())
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	var failed error
	select {
	case failed = <-served:
	case <-s.ctx.Done():
	}
	const drain = 30 * time.Second
	ctx, cancel := context.WithTimeout(s.hard, drain)
	defer cancel()
	drained := server.Shutdown(ctx)
	if drained != nil {
		drained = errors.Join(drained, server.Close())
	}
	cut, cancelCut := context.WithTimeout(s.hard, time.Second)
	defer cancelCut()
	_ = end(cut) // what the downstreams still do is for nobody any more
	return errors.Join(failed, drained)
}
