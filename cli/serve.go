package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/retrylab/retrylab/downstream"
	"github.com/retrylab/retrylab/downstream/bounded"
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
/api/reset forgets them. On SIGINT and SIGTERM it ends the requests in progress, 30 s at most, and prints
its account as JSON on stdout.`
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
	ended := serveHTTP(s, listener, app)
	account := json.NewEncoder(s.Out)
	account.SetIndent("", "  ")
	return errors.Join(ended, account.Encode(app.Snapshot()))
}

// serveHTTP serves until the session is interrupted, and drains.
func serveHTTP(s *session, listener net.Listener, app *service.Service) error {
	server := bounded.New(&http.Server{Handler: app})
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
		drained = errors.Join(fmt.Errorf("requests in progress were cut: %w", drained), server.Close())
	}
	cut, cancelCut := context.WithTimeout(s.hard, time.Second)
	defer cancelCut()
	_ = app.Close(cut) // what the downstreams still do is for nobody any more
	return errors.Join(failed, drained)
}
