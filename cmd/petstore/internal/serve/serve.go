// Package serve runs the service: listeners, TLS, the admin listener and shutdown around the API.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"example.com/petstore"
	"example.com/petstore/cmd/petstore/internal/telemetry"
	"example.com/petstore/config"
	rest "example.com/petstore/delivery/http"
	"example.com/petstore/delivery/http/server"
	"example.com/petstore/docs"
	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
)

// Options are what Run needs beside the settings.
type Options struct {
	Version, Commit string
	StoreName       string // for the log
	SettingsFile    string // for the log, or empty
	FirstKey        bool   // create an API key if the store has none, and print it to Stdout
	Stdout, Stderr  io.Writer
	Store           engine.Engine
	ForceExit       func() // ends the process with 1
}

// Run runs the service until ctx ends. It opens the listeners before the store, so that
// no store is created if an address is in use.
func Run(ctx context.Context, settings config.Config, o Options) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	metrics := telemetry.NewRegistry()
	log, level, closeLog, err := telemetry.NewLogger(settings.Log, o.Stderr, telemetry.RegisterLogMetrics(metrics))
	if err != nil {
		return err
	}
	defer closeLog()
	limitShutdown(ctx, settings.Server, log, o.ForceExit)
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
	startup, err := server.NewStartupHandler(settings.Server.TrustedProxies, rest.Options{
		Logger: log, RequestTimeout: settings.Server.RequestTimeout, AllowedOrigins: settings.CORS.AllowedOrigins,
	})
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener, withHSTS(startup), serverTimeouts(settings.Server), log) }()
	drainCtx, drained := context.WithCancel(context.WithoutCancel(ctx)) // ends after the last request
	defer drained()
	ready := telemetry.RegisterReadyMetric(metrics)
	group.Go(func() error { return serveAdmin(drainCtx, admin, settings, metrics, level, log) })

	tracerProvider, flushTraces, err := telemetry.NewTracerProvider(ctx, settings.Tracing.OTLPEndpoint, log)
	if err != nil {
		return err
	}
	defer flushTraces()
	options := petstore.Options{
		Store: o.Store, NoMigration: !settings.Database.Migrate, MaxOpenConns: settings.Database.MaxOpenConns,
		MaxStaleness: settings.Cache.MaxStaleness, RequireSynchronous: settings.Database.RequireSynchronous,
		RequestTimeout: settings.Server.RequestTimeout, RateLimit: rest.RateLimit(settings.RateLimit),
		AllowedOrigins: settings.CORS.AllowedOrigins, CacheBytes: cmp.Or(int64(settings.Cache.MaxBytes), -1),
		Document: docs.Options{
			ProductionURL: settings.Server.ProductionURL, StagingURL: settings.Server.StagingURL,
			TrustedProxies: settings.Server.TrustedProxies,
		},
		Logger: log, TracerProvider: tracerProvider,
	}
	if admin != nil { // else nobody could read them
		options.Metrics = metrics
	}
	service, err := Interruptible(ctx, func() (*petstore.Service, error) { return petstore.New(ctx, options) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.Close()) }()
	health := server.NewHealth(service.Store().Ping)
	handler, err := newPublicHandler(service, health, settings)
	if err != nil {
		return err
	}
	if err := importBootstrapKey(ctx, service.Keys(), settings.Auth.BootstrapKey); err != nil {
		return err
	}
	startup.SetHandler(handler)
	ready.Store(health)

	o.logServing(ctx, settings, service.Store(), listener.Addr(), log)
	context.AfterFunc(ctx, func() { health.Drain(); log.Info("stopping", zap.NamedError("reason", context.Cause(ctx))) })
	group.Go(func() error { defer drained(); return <-served })
	if o.FirstKey {
		group.Go(func() error { return printFirstKey(drainCtx, service.Keys(), settings, listener.Addr(), o.Stdout, log) })
	}
	err = group.Wait()
	log.Info("stopped", zap.Error(err))
	return err
}

// Interruptible returns what open returns, or an error when ctx ends before, also while SQLite waits
// for a lock of another process, which ignores ctx.
func Interruptible[T any](ctx context.Context, open func() (T, error)) (opened T, err error) {
	var result T
	done := make(chan error, 1)
	go func() {
		var err error
		result, err = open()
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil || ctx.Err() == nil {
			return result, err
		}
	case <-ctx.Done():
	}
	return opened, fmt.Errorf("interrupted while opening the store: %w", context.Cause(ctx))
}

// checkTimeout is how long the start of the service waits for the check of logServing.
const checkTimeout = 5 * time.Second

// logServing logs that the service serves, and a warning if acknowledged writes could be lost
// in a failover of the database server.
func (o Options) logServing(ctx context.Context, settings config.Config, store *repository.Store, address net.Addr, log *zap.Logger) {
	log.Info("serving", o.servingFields(store, address)...)
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := store.CheckSynchronous(ctx); err != nil {
		log.Warn("the database server has no synchronous standby", zap.Error(err), zap.Bool("required", settings.Database.RequireSynchronous))
	}
}

// servingFields returns the fields of the log entry "serving".
func (o Options) servingFields(store *repository.Store, address net.Addr) []zap.Field {
	fields := []zap.Field{
		zap.String("version", o.Version), zap.String("commit", o.Commit), zap.Stringer("address", address),
		zap.String("store", o.StoreName),
		zap.Int64("schema_version", store.Schema().Version), zap.Bool("store_created", store.Schema().Created),
	}
	if o.SettingsFile != "" {
		fields = append(fields, zap.String("settings_file", o.SettingsFile))
	}
	return fields
}
