// Package serve runs the API as a process: it opens the listeners, with TLS, and shuts the service down.
package serve

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"example.com/petstore"
	"example.com/petstore/cmd/petstore/internal/telemetry"
	"example.com/petstore/config"
	rest "example.com/petstore/delivery/http"
	"example.com/petstore/delivery/http/swagger"
	"example.com/petstore/docs"
	"example.com/petstore/internal/server"
)

// Options are the arguments of Run in addition to the settings.
type Options struct {
	Program         string              // the command line of the program on this store, for hints
	Version, Commit string              // of the build
	StoreFile       telemetry.StoreFile // the file of the store, or "" if it is none
	Fields          []zap.Field         // fields for the log entry "serving": the store, the settings file
	FirstKey        bool                // create an API key if the store has never had one, and print it to Stdout
	Stdout, Stderr  io.Writer
	// Open opens the store that the settings name, and returns the service on it.
	Open func(context.Context, petstore.Options) (*petstore.Service, error)
}

// Run runs the service until ctx ends. It opens the listeners before the store, so that it does not create a store if an
// address is in use.
func Run(ctx context.Context, settings config.Config, o Options) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	var ready atomic.Pointer[server.Health] // nil until the service is ready
	metrics := telemetry.NewRegistry(o.Version, o.Commit, func() bool {
		health := ready.Load()
		return health != nil && health.Check(context.Background()) == nil
	})
	if o.StoreFile != "" {
		metrics.MustRegister(o.StoreFile)
	}
	log, level, closeLog, err := telemetry.NewLogger(settings.Log, o.Stderr, metrics)
	if err != nil {
		return err
	}
	stopLimit := limitShutdown(ctx, settings.Server, log)
	defer func() {
		closeLog()
		if err == nil { // otherwise the limit stays: the caller writes err to standard error, which may block
			stopLimit()
		}
	}()
	listener, err := listenPublic(ctx, settings.Server, log)
	if err != nil {
		return err
	}
	defer listener.Close()
	admin, err := listen(ctx, "admin.address", settings.Admin.Address, settings.Server.SocketMode, listener.Addr())
	if err != nil {
		return err
	}
	if admin != nil {
		defer admin.Close()
	}
	api := rest.Options{Logger: log, RequestTimeout: settings.Server.RequestTimeout, AllowedOrigins: settings.CORS.AllowedOrigins}
	startup, err := server.NewStartupHandler(settings.Server.TrustedProxies, api)
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener, withHSTS(startup), serverTimeouts(settings.Server), log) }()
	drainCtx, drained := context.WithCancel(context.WithoutCancel(ctx)) // cancelled after the last request
	defer drained()
	group.Go(func() error { return serveAdmin(drainCtx, admin, settings, metrics, level, log) })

	tracerProvider, flushTraces, err := telemetry.NewTracerProvider(ctx, settings.Tracing.OTLPEndpoint, log)
	if err != nil {
		return err
	}
	defer flushTraces()
	api.TracerProvider, api.RateLimit = tracerProvider, rest.RateLimit(settings.RateLimit)
	api.CacheBytes, api.ChangeStreams = cmp.Or(int64(settings.Cache.MaxBytes), -1), settings.Changes.StreamsPerKey
	api.StaleIfUnavailable = settings.Cache.StaleIfUnavailable
	if admin != nil { // without the admin listener nobody could read the metrics
		api.Metrics = metrics
	}
	waits := "serve waits up to 30s for another service that has its file"
	if settings.Database.Driver == "postgres" {
		waits = "serve waits for the server, or for another process that migrates the store"
	}
	slow := time.AfterFunc(time.Second, func() { log.Warn("the store is still being opened: " + waits) })
	service, err := o.Open(ctx, petstore.Options{
		API: api, NoMigration: !settings.Database.Migrate, MaxOpenConns: settings.Database.MaxOpenConns,
		RequireSynchronous: settings.Database.RequireSynchronous, ChangesRetention: settings.Changes.Retention,
		Document: docs.Options{ProductionURL: settings.Server.ProductionURL, StagingURL: settings.Server.StagingURL},
	})
	slow.Stop()
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
	notify(daemon.SdNotifyReady, log)
	group.Go(func() error { return feedWatchdog(drainCtx, health, service.Store().IsRemote(), log) })

	o.logServing(ctx, settings, service, listener.Addr(), log)
	context.AfterFunc(ctx, func() {
		health.Drain()
		notify(daemon.SdNotifyStopping, log)
		log.Info("stopping", zap.NamedError("reason", context.Cause(ctx)))
	})
	group.Go(func() error { defer drained(); return <-served })
	if o.FirstKey {
		group.Go(func() error { return o.printFirstKey(drainCtx, service.Keys(), settings, listener.Addr(), log) })
	}
	err = errors.Join(group.Wait(), service.Close()) // the deferred second Close does nothing
	log.Info("stopped", zap.Error(err))
	return err
}

// newPublicHandler returns the handler of the public listener: the API and the health checks. If the documentation is
// enabled, the handler also serves the documentation, and redirects / to it.
func newPublicHandler(service *petstore.Service, health *server.Health, settings config.Config) (http.Handler, error) {
	engine, err := server.NewEngine(service.API(), health, settings.Server.TrustedProxies)
	if err != nil || !settings.Docs.Enabled {
		return engine, err
	}
	swagger.RedirectRoot(engine)
	return engine, swagger.Mount(engine, service)
}

// checkTimeout is the timeout of all checks of logServing together. The service already serves requests, but the output
// of --first-key waits for the checks.
const checkTimeout = 5 * time.Second

// logServing logs that the service serves, and what an operator should know:
//
//   - a message if it has migrated the store, or if a backup was restored before this start,
//   - a warning if the store was created in the database of another program,
//   - a warning if the store is on a file system such as NFS,
//   - a message if no synchronous standby is known, so that a failover may lose writes; it is a warning if
//     database.require_synchronous is set,
//   - a warning if no API key is valid, unless FirstKey is set.
func (o Options) logServing(ctx context.Context, settings config.Config, service *petstore.Service, address net.Addr, log *zap.Logger) {
	store := service.Store()
	fields := append([]zap.Field{
		zap.String("version", o.Version), zap.String("commit", o.Commit), zap.Stringer("address", address),
		zap.Int64("schema_version", store.Schema().Version), zap.Time("schema_migrated_at", store.Schema().MigratedAt),
		zap.Bool("store_created", store.Schema().Created),
	}, o.Fields...)
	if others := store.Schema().OtherTables; others != "" {
		fields = append(fields, zap.String("other_tables", others))
		if store.Schema().Created {
			log.Warn("created the store beside the tables of another program", zap.String("other_tables", others))
		}
	}
	if schema := store.Schema(); !schema.Created && schema.Previous != schema.Version {
		log.Info("migrated the store", zap.Int64("from_schema_version", schema.Previous), zap.Int64("to_schema_version", schema.Version))
	}
	o.StoreFile.LogRestore(log)
	log.Info("serving", fields...)
	if name := o.StoreFile.FileSystem(); name != "" {
		log.Warn("SQLite may lose data on this file system: keep the store on a local disk", zap.String("file_system", name))
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := store.CheckSynchronous(ctx); err != nil {
		level := zap.InfoLevel // most servers have no standby
		if settings.Database.RequireSynchronous {
			level = zap.WarnLevel
		}
		log.Log(level, "no synchronous standby is known", zap.Error(err))
	}
	if !o.FirstKey {
		o.warnWithoutKey(ctx, service.Keys(), log)
	}
}

// serverTimeouts returns the timeouts of the HTTP server. Requests get 95 % of the shutdown timeout. The rest is for the
// writes after the last request: last uses of keys, queued transactions, traces and log.
func serverTimeouts(s config.Server) server.Timeouts {
	return server.Timeouts{
		ReadHeader: s.ReadHeaderTimeout, Read: s.ReadTimeout, Write: s.WriteTimeout, Idle: s.IdleTimeout,
		Delay: s.ShutdownDelay, Shutdown: s.ShutdownTimeout - s.ShutdownTimeout/20,
	}
}

// forcedExitLogTime is how long before the limit a forced exit is logged, so that the line is written before the exit.
const forcedExitLogTime = 200 * time.Millisecond

// limitShutdown exits the process when ShutdownDelay and ShutdownTimeout have passed since ctx ended, even if a goroutine
// still waits for a disk, a trace collector or a full pipe. The caller calls stop when the shutdown is complete.
func limitShutdown(ctx context.Context, s config.Server, log *zap.Logger) (stop func()) {
	limit := s.ShutdownDelay + s.ShutdownTimeout
	stopped := make(chan struct{})
	context.AfterFunc(ctx, func() {
		select {
		case <-time.After(limit - forcedExitLogTime):
		case <-stopped:
			return
		}
		log.Error("shutdown timed out, exiting", zap.Duration("limit", limit))
		_ = log.Sync()
		time.Sleep(forcedExitLogTime * 3 / 4)
		os.Exit(1) //nolint:forbidigo // nothing can interrupt a blocked system call
	})
	return func() { close(stopped) }
}
