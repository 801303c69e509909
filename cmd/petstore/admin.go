package main

import (
	"context"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"example.com/petstore/delivery/http/server"
)

// adminHandler returns the handler of the admin listener: metrics and profiles. It omits
// pprof's /debug/pprof/cmdline, because a command line may contain secrets.
func adminHandler(metrics prometheus.Gatherer) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// serveAdmin serves metrics and profiles until ctx ends. It does nothing if listener is
// nil.
func serveAdmin(ctx context.Context, listener net.Listener, metrics prometheus.Gatherer, t server.Timeouts, log *zap.Logger) error {
	if listener == nil {
		return nil
	}
	log.Info("serving metrics and profiles", zap.Stringer("address", listener.Addr()))
	// The client chooses how long a profile takes, but it does not delay the shutdown.
	t.Write, t.Delay, t.Shutdown = 0, 0, 100*time.Millisecond
	if err := server.Serve(ctx, listener, adminHandler(metrics), t, log); ctx.Err() == nil {
		return err
	}
	return nil // an interrupted profile is not an error
}
