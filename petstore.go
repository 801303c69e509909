// Package petstore is the service of an animal store, for a program that mounts it on its own Gin
// engine:
//
//	service, err := petstore.New(ctx, sqlite.New("pets.db"), petstore.Options{})
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
	"go.uber.org/zap"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/docs"
	"example.com/petstore/internal/engine"
	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

// An Engine opens the database of a store. Packages repository/sqlite and repository/postgres have them.
type Engine = engine.Engine

// A Schema is the schema of a store.
type Schema = engine.Schema

// Options are the options of New.
type Options struct {
	// API are the options of the API. The store also uses Logger, Metrics, TracerProvider and StaleIfUnavailable, and each
	// call of it takes at most RequestTimeout. Call rest.EndStreams before the server serves, otherwise its Shutdown waits
	// for open streams of changes.
	API rest.Options
	// NoMigration makes New reject a store that does not exist or has an older schema. Otherwise New creates the store or
	// migrates its schema. See Migrate.
	NoMigration bool
	// MaxOpenConns is the number of connections that read, 4 when zero.
	MaxOpenConns int
	// RequireSynchronous makes writes and Store.Ping fail while a commit on a PostgreSQL server would not wait for a
	// standby. New succeeds all the same.
	RequireSynchronous bool
	// ChangesRetention is how long changes are kept. The default is 7 days, the minimum one hour.
	ChangesRetention time.Duration
	// Validate, if not nil, checks the rules of the host. It is called before the API or Service.Pets adds or corrects
	// an animal that satisfies the rules of the API. Orders, removals and commands do not call it. For a violation the API sends 400, and
	// Service.Pets returns an ErrInvalid (validation_failed). Validate may run in a transaction and more than once: it
	// must be quick, have no effect, and not call the service.
	Validate usecase.PetRule
	// Now is the clock of the service: of orders, of changes and their retention, of the expiry of API keys, of the rate
	// limit. It is time.Now when nil. It must be safe for concurrent use. Idempotency keys and timeouts have clocks of their own.
	Now func() time.Time
	// Document are the properties of the OpenAPI document, for package swagger. With API.Authenticate the defaults
	// differ: SecurityScheme is any bearer token, Contact is empty, and Description does not mention API keys.
	Document docs.Options
}

// Migrate creates the store of an engine, or migrates it to the schema of this program. It is for a host that runs
// migrations as a separate step, and calls New with Options.NoMigration. Its error is one line that ends with the remedy.
func Migrate(ctx context.Context, e Engine) error {
	store, err := repository.Open(ctx, e, repository.Options{})
	if err != nil {
		return err
	}
	return store.Close()
}

// A Store is the open store of a Service. Close of the Service closes it.
type Store interface {
	// Ping returns an ErrUnavailable if the store cannot be read, or could not commit. It is for the readiness of a host.
	Ping(ctx context.Context) error
	// Schema returns the schema that New has found or created.
	Schema() Schema
	// IsRemote reports whether the store is on a database server.
	IsRemote() bool
	// CheckSynchronous returns an error if a commit would not wait for a standby. A SQLite store has none, and returns nil.
	CheckSynchronous(ctx context.Context) error
}

// A Service is the API on an open store. The caller must close it.
type Service struct {
	api        *rest.API
	store      *repository.Store
	keys       *usecase.Keys
	pets       *usecase.Pets
	orders     *usecase.Orders
	categories *usecase.Categories
	changes    *usecase.Changes
	followers  *followers
	document   docs.Options
	metrics    *registered
	stop       context.CancelFunc // ends the background goroutines
	working    sync.WaitGroup
}

// New opens the store of an engine, from package repository/sqlite or repository/postgres, and returns the service.
// Mount mounts it. If ctx ends, New is interrupted; a service that New has returned does not depend on ctx. A SQLite file
// has one service: New waits up to 30 s until another one has stopped. The error is one line that ends with the remedy.
func New(ctx context.Context, e Engine, o Options) (_ *Service, err error) {
	api := o.API
	api.Logger = cmp.Or(api.Logger, zap.NewNop())
	if err := cmp.Or(api.Validate(), o.validate()); err != nil { // before the store is created
		return nil, fmt.Errorf("petstore.New: %w", err)
	}
	if api.Authenticate != nil {
		o.Document = withoutKeys(o.Document)
	}
	s := &Service{document: o.Document, metrics: &registered{Registerer: api.Metrics}, stop: func() {}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	store := o.store()
	if store.ObserveCommit, store.ObserveFailure, err = s.metrics.registerTransactions(); err != nil {
		return nil, err
	}
	if s.store, err = repository.Open(ctx, e, store); err != nil {
		return nil, err
	}
	now := o.clock()
	s.keys = usecase.NewKeys(s.store, s.store.Keys(), now)
	s.pets, s.orders = usecase.NewPets(s.store, s.store.Pets(), o.rules()...), usecase.NewOrders(s.store, s.store.Orders(), now)
	s.categories, s.changes = usecase.NewCategories(s.store, s.store.Categories()), usecase.NewChanges(s.store, s.store.Changes(), now)
	s.followers = &followers{now: now, log: api.Logger, current: map[*follower]time.Time{}}
	if err := s.metrics.registerStore(s.store, s.pets, s.followers, now); err != nil {
		return nil, err
	}
	if api.Metrics != nil {
		api.Metrics = s.metrics
	}
	s.api, err = rest.New(rest.Service{
		Pets: s.pets, Orders: s.orders, Categories: s.categories, Changes: s.changes, Keys: s.keys,
		Numbers: s.store.Numbers, NumbersAge: s.store.NumbersAge, Remote: s.store.IsRemote(), Now: o.Now,
	}, api)
	if err != nil {
		return nil, err
	}
	working, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.working.Go(func() { s.keys.FlushLastUsed(working, flushInterval, logFlushes(api.Logger)) })
	if api.Authenticate == nil {
		s.working.Go(func() { logKeys(working, s.keys, api.Logger) })
	}
	s.working.Go(func() {
		removeOldChanges(working, s.changes, cmp.Or(o.ChangesRetention, defaultChangesRetention), api.Logger)
	})
	return s, nil
}

// validate returns an error if ChangesRetention is too short.
func (o *Options) validate() error {
	if o.ChangesRetention != 0 && o.ChangesRetention < minChangesRetention {
		return fmt.Errorf("Options.ChangesRetention is %s: use at least %s", o.ChangesRetention, minChangesRetention)
	}
	return nil
}

// store returns the options of the store.
func (o *Options) store() repository.Options {
	return repository.Options{
		Options: engine.Options{
			Service: true, NoMigration: o.NoMigration, MaxOpenConns: o.MaxOpenConns, RequireSynchronous: o.RequireSynchronous,
		},
		TracerProvider: o.API.TracerProvider, StaleIfUnavailable: o.API.StaleIfUnavailable, Timeout: o.API.RequestTimeout, Now: o.Now,
	}
}

// clock returns Now in the form in which times are stored.
func (o *Options) clock() func() time.Time {
	if o.Now == nil {
		return usecase.Now
	}
	return func() time.Time { return o.Now().UTC().Truncate(time.Millisecond) }
}

// rules returns Validate as a list, which is empty if Validate is nil.
func (o *Options) rules() (rules []usecase.PetRule) {
	if o.Validate != nil {
		rules = append(rules, o.Validate)
	}
	return rules
}

// withoutKeys returns d with the defaults for a host that authenticates requests itself (see rest.Options.Authenticate).
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

// Mount mounts the API on an engine or on a group. Call it once. The middleware runs before Authenticate: use it to
// authenticate the users of the host. It does not run for OPTIONS, because browsers send preflight requests without
// credentials: a middleware of the group itself would reject them. Mount returns an error if a route of the host
// conflicts with a route of the API (see rest.API.Mount).
func (s *Service) Mount(r gin.IRouter, middleware ...gin.HandlerFunc) error {
	return s.api.Mount(r, middleware...)
}

// BasePath returns the path under which the API is mounted, or "" before Mount.
func (s *Service) BasePath() string { return s.api.BasePath() }

// Document returns Options.Document with the values that New has set, for package swagger.
func (s *Service) Document() docs.Options { return s.document }

// API returns the API, for a host that uses its middleware and its error responses for other routes.
func (s *Service) API() *rest.API { return s.api }

// Store returns what a host may ask of the store.
func (s *Service) Store() Store { return s.store }

// Keys returns the use cases of the API keys, for a host that issues keys itself.
func (s *Service) Keys() *usecase.Keys { return s.keys }

// Pets returns the use cases of the animals. The operations of the API call the same use cases.
func (s *Service) Pets() *usecase.Pets { return s.pets }

// Orders returns the use cases of the orders. The operations of the API call the same use cases.
func (s *Service) Orders() *usecase.Orders { return s.orders }

// Categories returns the use cases of the categories. The operations of the API call the same use cases.
func (s *Service) Categories() *usecase.Categories { return s.categories }

// Changes returns the use cases of the changes. See Follow.
func (s *Service) Changes() *usecase.Changes { return s.changes }

// Close stores when keys were last used, removes the metrics, waits until the queued transactions are durable and
// closes the store. Call it after the last request. It may be called more than once.
func (s *Service) Close() error {
	s.stop()
	s.working.Wait()
	s.metrics.unregister()
	if s.store == nil {
		return nil
	}
	return s.store.Close()
}
