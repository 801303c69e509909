package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"example.com/petstore/config"
	rest "example.com/petstore/delivery/http"
	"example.com/petstore/delivery/http/server"
	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

func newServe(in *invocation) *cobra.Command {
	var firstKey bool
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the API until a signal stops the process",
		Long: `Serve the API until SIGTERM, SIGINT or SIGHUP stops the process. For
server.shutdown_delay it still accepts requests, while /readyz returns 503; then running
requests finish. It exits within server.shutdown_delay and server.shutdown_timeout
together: with 0, or with 1 when something was cut off. A second signal ends it at once.

The log is written to standard error. Requests do not wait for it: lines that cannot be
written in time are dropped, and counted in petstore_log_dropped_lines_total.`,
		Example: "  petstore serve --first-key\n  petstore serve --config shop.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := in.settings()
			if err != nil {
				return err
			}
			return in.serve(cmd.Context(), settings, firstKey)
		},
	}
	cmd.Flags().BoolVar(&firstKey, "first-key", false, "issue an API key when the store has none, and print it")
	return cmd
}

// serve runs the service until ctx ends. The listeners come before the store, so
// that a taken port leaves nothing behind, and a gate answers until the store is open.
func (in *invocation) serve(ctx context.Context, settings config.Config, firstKey bool) (err error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	group, ctx := errgroup.WithContext(ctx)
	metrics := newRegistry()
	log, closeLog, err := newLog(settings.Log, in.stderr, measureLog(metrics))
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
		rest.WithLogger(log), rest.WithGetPetSunset(settings.API.GetPetSunset), rest.WithRequestTimeout(settings.Server.RequestTimeout),
	)
	if err != nil {
		return err
	}
	timeouts := timeoutsOf(settings.Server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener, withHSTS(startup), timeouts, log) }()

	tracer, flushTraces, err := newTraces(ctx, settings.Tracing.OTLPEndpoint, log)
	if err != nil {
		return err
	}
	defer flushTraces()
	store, err := open(ctx, settings.Database, repository.Options{
		TracerProvider: tracer, ObserveCommit: registerCommitMetrics(metrics), ObserveError: registerErrorMetrics(metrics),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	registerPoolMetrics(metrics, store)
	keys, health := usecase.NewKeys(store, store.Keys(), clock), server.NewHealth(store.Ping)
	engine, err := newEngine(
		settings, health,
		rest.Services{
			Pets:   usecase.NewPets(store, store.Pets(), clock),
			Orders: usecase.NewOrders(store, store.Orders(), clock),
			Keys:   keys,
		},
		rest.WithLogger(log),
		rest.WithMetrics(registererFor(metrics, admin)),
		rest.WithTracerProvider(tracer),
		rest.WithPageCache(store.Versions, int64(settings.Cache.MaxBytes)),
	)
	if err != nil {
		return err
	}
	if err := importBootstrapKey(ctx, keys, settings.Auth.BootstrapKey); err != nil {
		return err
	}
	startup.Ready(engine)

	log.Info("serving", in.servingFields(settings, store, listener.Addr())...)
	context.AfterFunc(ctx, func() { health.Drain(); log.Info("stopping", zap.NamedError("reason", context.Cause(ctx))) })
	requests, answered := context.WithCancel(context.WithoutCancel(ctx)) // ends after ctx, with the last of them
	group.Go(func() error { defer answered(); return <-served })
	group.Go(func() error { return flushLastUsed(requests, keys, log) })
	group.Go(func() error { return serveAdmin(requests, admin, metrics, timeouts, log) })
	if firstKey {
		group.Go(func() error { return printFirstKey(requests, keys, settings, listener.Addr(), in.stdout, log) })
	}
	err = group.Wait()
	log.Info("stopped", zap.Error(err))
	return err
}
