// Package petstore is the service of an animal store, for a program that mounts it on its own Gin
// engine:
//
//	service, err := petstore.New(ctx, petstore.Options{Store: sqlite.New("pets.db")})
//	…
//	defer service.Close()
//	err = service.Mount(engine.Group("/shop/v1"))
//
// It changes nothing outside the group that it is mounted on: no Gin mode, no default registry, no
// global logger, no signal handler. Close ends all its goroutines.
package petstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/docs"
	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/usecase"
)

// Options are the options of New. Only Store is required.
type Options struct {
	// Store is the engine of the store, of repository/sqlite or repository/postgres.
	Store engine.Engine
	// NoMigration makes New reject a store that does not exist or has an older schema, instead of
	// creating it or migrating its schema.
	NoMigration bool
	// MaxOpenConns is the number of connections that read, 4 when zero.
	MaxOpenConns int
	// MaxStaleness is for how long lists may miss the commits of other processes on PostgreSQL,
	// 5 s at most. By default they miss none.
	MaxStaleness time.Duration
	// RequireSynchronous rejects writes while no standby of a PostgreSQL server would have them.
	RequireSynchronous bool

	// RecordChanges records the changes of animals and orders, and serves them (GET /changes). All
	// processes on a store need the same value: one without it removes the changes of the others. Call
	// rest.EndStreams before the server serves: otherwise its Shutdown waits for the streams of changes.
	RecordChanges bool
	// ChangesRetention is how long changes are kept, 7 days when zero, at least an hour.
	ChangesRetention time.Duration
	// ChangeStreams is how many open streams of changes a caller can have, 10 when zero.
	ChangeStreams int

	// Authenticate, if not nil, replaces the authentication by API keys. See rest.Authenticator.
	Authenticate rest.Authenticator
	// RequestTimeout is the timeout of a request, 10 s when zero. The WriteTimeout of the server
	// must be longer.
	RequestTimeout time.Duration
	// RateLimit is the limit of requests for each caller.
	RateLimit rest.RateLimit
	// AllowedOrigins are the origins, such as https://shop.example.com, whose web pages may use
	// the API (CORS), with a token and not with cookies.
	AllowedOrigins []string
	// CacheBytes is about how much memory caches pages of the lists: 16 MiB when zero, none when
	// negative.
	CacheBytes int64
	// Document are the properties of the OpenAPI document, for package swagger. With Authenticate,
	// its default SecurityScheme is any bearer token, and its default Description names no API keys.
	Document docs.Options

	// Logger, if not nil, gets the access log and the causes of 5xx responses.
	Logger *zap.Logger
	// Metrics, if not nil, gets the metrics of the API and of the store. Two services on one
	// registry need different labels (prometheus.WrapRegistererWith).
	Metrics prometheus.Registerer
	// TracerProvider, if not nil, creates a span for each request and for each of its statements.
	TracerProvider trace.TracerProvider
}

const defaultCacheBytes = 16 << 20

// A Service is the API on an open store. The caller must close it.
type Service struct {
	api      *rest.API
	store    *repository.Store
	keys     *usecase.Keys
	document docs.Options
	metrics  *registered
	stop     context.CancelFunc // ends the work in the background
	working  sync.WaitGroup
}

// New opens the store and returns the service, which is not mounted yet. The end of ctx interrupts
// New, not the service. Its error is one line that ends with the remedy.
func New(ctx context.Context, o Options) (_ *Service, err error) {
	if o.Store == nil {
		return nil, errors.New("petstore.New: set Options.Store, such as sqlite.New(\"pets.db\")")
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	if o.Authenticate != nil {
		o.Document = withoutKeys(o.Document)
	}
	o.Document.WithoutChanges = !o.RecordChanges
	now := func() time.Time { return time.Now().UTC().Truncate(time.Millisecond) } //nolint:forbidigo // the clock, as precise as the store
	s := &Service{document: o.Document, metrics: &registered{Registerer: o.Metrics}, stop: func() {}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	api := rest.Options{
		Authenticate: o.Authenticate, RequestTimeout: o.RequestTimeout, RateLimit: o.RateLimit, AllowedOrigins: o.AllowedOrigins,
		CacheBytes: cmp.Or(o.CacheBytes, defaultCacheBytes), Logger: o.Logger, TracerProvider: o.TracerProvider,
		ChangeStreams: o.ChangeStreams,
	}
	if err := cmp.Or(api.Validate(), o.validate()); err != nil { // before the store is created
		return nil, fmt.Errorf("petstore.New: %w", err)
	}
	options := repository.Options{
		Migrate: !o.NoMigration, MaxOpenConns: o.MaxOpenConns, MaxStaleness: o.MaxStaleness,
		RequireSynchronous: o.RequireSynchronous, TracerProvider: o.TracerProvider,
	}
	if options.ObserveCommit, options.ObserveFailure, err = s.metrics.registerTransactions(); err != nil {
		return nil, err
	}
	if s.store, err = repository.Open(ctx, o.Store, options); err != nil {
		return nil, err
	}
	s.keys = usecase.NewKeys(s.store, s.store.Keys(), now)
	if err := s.metrics.registerStore(s.store, now); err != nil {
		return nil, err
	}
	api.Pets, api.Orders, api.Keys = usecase.NewPets(s.store, s.store.Pets()), usecase.NewOrders(s.store, s.store.Orders(), now), s.keys
	api.Versions = s.store.Versions
	changes := usecase.NewChanges(s.store, s.store.Changes(), now, s.store.MaxStaleness())
	if o.RecordChanges {
		if _, err := changes.Begin(ctx); err != nil {
			return nil, fmt.Errorf("petstore.New: record changes: %w", err)
		}
		if err := changes.AwaitPosition(ctx); err != nil {
			return nil, fmt.Errorf("petstore.New: read the position of the changes: %w", err)
		}
		api.Changes = changes
	}
	if o.Metrics != nil {
		api.Metrics = s.metrics
	}
	if s.api, err = rest.New(api); err != nil {
		return nil, err
	}
	working, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.working.Go(func() { s.keys.FlushLastUsed(working, flushInterval, logFlushes(o.Logger)) })
	s.working.Go(func() {
		if o.RecordChanges {
			keepChanges(working, changes, o)
		} else {
			endChanges(working, changes, o.Logger)
		}
	})
	return s, nil
}

// validate returns an error for an option that the API does not check.
func (o *Options) validate() error {
	if o.ChangesRetention != 0 && o.ChangesRetention < minChangesRetention {
		return fmt.Errorf("Options.ChangesRetention is %s: use at least %s", o.ChangesRetention, minChangesRetention)
	}
	return nil
}

// withoutKeys returns the properties of the document of a host that issues no API keys.
func withoutKeys(d docs.Options) docs.Options {
	if d.SecurityScheme == nil {
		d.SecurityScheme = map[string]any{"type": "http", "scheme": "bearer"}
	}
	if d.Contact == nil {
		d.Contact = &docs.Contact{}
	}
	d.Description = cmp.Or(d.Description, "The catalogue of an animal store and the orders for its animals.")
	return d
}

// Mount mounts the API on an engine or on a group, once. The middleware, such as one that signs
// the users of the host in, runs before Options.Authenticate, but not for the preflights of
// browsers, which have no credentials: those of a group with such a middleware would fail. Mount
// returns an error if a route of the host conflicts with one of the API (see rest.API.Mount).
func (s *Service) Mount(r gin.IRouter, middleware ...gin.HandlerFunc) error {
	return s.api.Mount(r, middleware...)
}

// BasePath returns the path under which the API is mounted, or "" before Mount.
func (s *Service) BasePath() string { return s.api.BasePath() }

// Document returns Options.Document, for package swagger.
func (s *Service) Document() docs.Options { return s.document }

// API returns the API, for a host whose own routes have the same middleware and errors.
func (s *Service) API() *rest.API { return s.api }

// Store returns the store, for health checks (Ping). Close closes it.
func (s *Service) Store() *repository.Store { return s.store }

// Keys returns the use cases of the API keys, for a host that issues them.
func (s *Service) Keys() *usecase.Keys { return s.keys }

// Close stores when keys were last used, waits until the queued transactions are durable, closes the
// store and removes the metrics. Call it after the last request. It may be called again.
func (s *Service) Close() error {
	s.stop()
	s.working.Wait()
	s.metrics.unregister()
	if s.store == nil {
		return nil
	}
	return s.store.Close()
}
