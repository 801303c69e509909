package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/delivery/http/server"
	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

func newServe(in *invocation) *cobra.Command {
	var firstKey bool
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the API until a signal stops the process",
		Long: `Serve the API until SIGTERM, SIGINT or SIGHUP stops the process.

During shutdown /readyz returns 503. For server.shutdown_delay new requests are still
accepted, then running requests finish. The process exits within server.shutdown_delay
plus server.shutdown_timeout: with 0, or with 1 if something failed or was interrupted. A
second signal stops it immediately.

The log is written to standard error. Requests do not wait for it: lines that cannot be
written in time are dropped, and counted in petstore_log_dropped_lines_total.`,
		Example: "  petstore serve --first-key\n  petstore serve --config shop.yaml",
		Args:    noArgs, RunE: func(cmd *cobra.Command, _ []string) error { return in.serve(cmd.Context(), firstKey) },
	}
	cmd.Flags().BoolVar(&firstKey, "first-key", false, "create an API key if the store has none, and print it")
	return cmd
}

// serve runs the service until ctx ends. It opens the listeners before the store, so that
// no store is created if an address is in use.
func (in *invocation) serve(ctx context.Context, firstKey bool) (err error) {
	settings, err := in.loadConfig()
	if err == nil && firstKey {
		err = in.checkStdout()
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	metrics := newRegistry()
	log, level, closeLog, err := newLogger(settings.Log, in.stderr, registerLogMetrics(metrics))
	if err != nil {
		return err
	}
	defer closeLog()
	in.limitShutdown(ctx, settings.Server, log)
	listener, err := listenPublic(ctx, settings.Server, log)
	if err != nil {
		return err
	}
	defer listener.Close()
	admin, err := listen(ctx, "admin.address", settings.Admin.Address)
	if err != nil {
		return err
	}
	if admin != nil {
		defer admin.Close()
	}
	startup, err := server.NewStartupHandler(
		settings.Server.TrustedProxies, rest.WithLogger(log),
		rest.WithRequestTimeout(settings.Server.RequestTimeout), rest.WithAllowedOrigins(settings.CORS.AllowedOrigins...),
	)
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener, withHSTS(startup), serverTimeouts(settings.Server), log) }()
	drainCtx, drained := context.WithCancel(context.WithoutCancel(ctx)) // ends after the last request
	defer drained()
	ready := registerReadyMetric(metrics)
	group.Go(func() error { return serveAdmin(drainCtx, admin, settings, metrics, level, log) })

	tracerProvider, flushTraces, err := newTracerProvider(ctx, settings.Tracing.OTLPEndpoint, log)
	if err != nil {
		return err
	}
	defer flushTraces()
	store, err := openStore(ctx, settings.Database, repository.Options{
		TracerProvider: tracerProvider, MaxStaleness: settings.Cache.MaxStaleness,
		ObserveCommit: registerCommitMetrics(metrics), ObserveFailure: registerFailureMetrics(metrics),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	pets, orders := usecase.NewPets(store, store.Pets(), clock), usecase.NewOrders(store, store.Orders(), clock)
	keys, health := usecase.NewKeys(store, store.Keys(), clock), server.NewHealth(store.Ping)
	registerStoreMetrics(metrics, store)
	handler, err := newPublicHandler(
		settings, health, rest.Services{Pets: pets, Orders: orders, Keys: keys},
		rest.WithLogger(log), rest.WithMetrics(registererFor(metrics, admin)), rest.WithTracerProvider(tracerProvider),
		rest.WithPageCache(store.Versions, int64(settings.Cache.MaxBytes)),
	)
	if err != nil {
		return err
	}
	if err := importBootstrapKey(ctx, keys, settings.Auth.BootstrapKey); err != nil {
		return err
	}
	startup.SetHandler(handler)
	ready.Store(health)

	in.logServing(ctx, settings, store, listener.Addr(), log)
	context.AfterFunc(ctx, func() { health.Drain(); log.Info("stopping", zap.NamedError("reason", context.Cause(ctx))) })
	group.Go(func() error { defer drained(); return <-served })
	group.Go(func() error { return flushLastUsed(drainCtx, keys, log) })
	if firstKey {
		group.Go(func() error { return printFirstKey(drainCtx, keys, settings, listener.Addr(), in.stdout.out, log) })
	}
	err = group.Wait()
	log.Info("stopped", zap.Error(err))
	return err
}
