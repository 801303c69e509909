package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"example.com/petstore/config"
	rest "example.com/petstore/delivery/http"
	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

func newServe(in *invocation) *cobra.Command {
	var firstKey bool
	cmd := &cobra.Command{
		Use: "serve", Short: "Answer requests until told to stop",
		Example: "  petstore serve --first-key\n  petstore serve --config shop.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := in.settings()
			if err != nil {
				return err
			}
			return serve(cmd.Context(), settings, firstKey, in.stdout, in.stderr)
		},
	}
	cmd.Flags().BoolVar(&firstKey, "first-key", false, "issue an API key when the store has none, and print it")
	return cmd
}

// serve runs the service until ctx ends. The listeners come before the store, so
// that a taken port leaves nothing behind, and a gate answers until the store is open.
func serve(ctx context.Context, settings config.Config, firstKey bool, stdout, stderr io.Writer) (err error) {
	log, flushLog, err := newLog(settings.Log, stderr)
	if err != nil {
		return err
	}
	defer flushLog()
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

	group, ctx := errgroup.WithContext(ctx)
	gate, timeouts := rest.NewGate(log, settings.API.GetPetSunset), timeoutsOf(settings.Server)
	served := make(chan error, 1)
	go func() { served <- rest.Serve(ctx, listener, insistOnTLS(gate), timeouts, log) }()

	tracer, flushTraces, err := newTraces(ctx, settings.Tracing.OTLPEndpoint, log)
	if err != nil {
		return err
	}
	defer flushTraces()
	metrics := newRegistry()
	store, err := open(ctx, settings.Database, repository.Options{
		Plugins: traceStatements(tracer), ObserveCommit: measureCommits(metrics), ObserveError: measureErrors(metrics),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	measurePools(metrics, store)
	keys := usecase.NewKeys(store, store.Keys(), clock)
	api, err := rest.New(
		rest.Services{
			Pets:   usecase.NewPets(store, store.Pets(), clock),
			Orders: usecase.NewOrders(store, store.Orders(), clock),
			Keys:   keys,
		},
		rest.WithLogger(log),
		rest.WithMetrics(readable(metrics, admin)),
		rest.WithTracerProvider(tracer),
		rest.WithPageCache(store.Versions, int64(settings.Cache.MaxBytes)),
		rest.WithGetPetSunset(settings.API.GetPetSunset),
		rest.WithRequestTimeout(settings.Server.RequestTimeout),
		rest.WithRateLimit(settings.RateLimit.Requests, settings.RateLimit.Window),
		rest.WithAllowedOrigins(settings.CORS.AllowedOrigins...),
	)
	if err != nil {
		return err
	}
	health := rest.NewHealth(store.Ping)
	engine, err := newEngine(api, health, settings)
	if err != nil {
		return err
	}
	if err := ensureKey(ctx, keys, settings.Auth.BootstrapKey); err != nil {
		return err
	}
	gate.Open(engine)
	if firstKey {
		if err := welcome(ctx, keys, settings, listener.Addr(), stdout); err != nil {
			return err
		}
	}

	log.Info("serving", zap.Stringer("address", listener.Addr()))
	context.AfterFunc(ctx, health.Drain)
	requests, answered := context.WithCancel(context.WithoutCancel(ctx)) // ends after ctx, with the last of them
	group.Go(func() error { defer answered(); return <-served })
	group.Go(func() error { return keepUses(requests, keys, log) })
	group.Go(func() error { return serveAdmin(requests, admin, metrics, timeouts, log) })
	err = group.Wait()
	log.Info("stopped", zap.Error(err))
	return err
}
