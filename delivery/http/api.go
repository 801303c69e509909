package http

import (
	"context"
	"errors"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"example.com/petstore/domain"
)

// Pets is what the API needs of the catalogue; usecase.Pets offers it.
type Pets interface {
	List(ctx context.Context, q domain.PetQuery) (domain.Page[domain.Pet], error)
	Get(ctx context.Context, id int64) (domain.Pet, error)
	Create(ctx context.Context, pet domain.NewPet, key domain.IdempotencyKey) (added domain.Pet, replayed bool, err error)
}

// Orders is what the API needs of the orders; usecase.Orders offers it.
type Orders interface {
	List(ctx context.Context, q domain.OrderQuery) (domain.Page[domain.Order], error)
	Get(ctx context.Context, id int64) (domain.Order, error)
	Place(ctx context.Context, petID int64, key domain.IdempotencyKey) (placed domain.Order, replayed bool, err error)
	Deliver(ctx context.Context, id int64) (domain.Order, error)
	Cancel(ctx context.Context, id int64) (domain.Order, error)
}

// Keys recognises API keys; usecase.Keys offers it.
type Keys interface {
	Authenticate(ctx context.Context, secret string) (domain.APIKey, error)
}

// Services are the use cases behind the API. Keys may be nil when
// WithAuthenticator takes its place.
type Services struct {
	Pets   Pets
	Orders Orders
	Keys   Keys
}

// An Authenticator returns the name of who makes a request. The name scopes idempotency
// keys and is no secret: it stands in the access log, in metrics and in the store.
//
// It finds in c what the middleware of the host left there, and leaves the response to the
// error that it returns: a domain.ErrUnauthenticated is a 401, a domain.ErrForbidden a 403,
// an error that is no domain.Error a 500. A 401 has no WWW-Authenticate unless the
// Authenticator sets it with c.Header.
type Authenticator func(c *gin.Context) (caller string, err error)

// An API answers the operations of the service. Make one with New, mount it with Register.
type API struct {
	pets         Pets
	orders       Orders
	authenticate Authenticator
	log          *zap.Logger
	now          func() time.Time
	sunset       time.Time
	timeout      time.Duration
	registerer   prometheus.Registerer
	metrics      *metrics
	limits       *rateLimits // nil when off, like the two below
	trace        gin.HandlerFunc
	client       func(*gin.Context) string
	cors         gin.HandlerFunc
	versions     func() (added, changed uint64)
	cacheBytes   int64
	pages        *pageCache
}

// publishedSunset is the published moment of the removal of getPet (service
// specification, "Versioning").
var publishedSunset = time.Date(2030, time.December, 5, 0, 0, 0, 0, time.UTC)

// New returns the API over the use cases. It fails when one of them is missing or
// an option cannot be met.
func New(services Services, options ...Option) (*API, error) {
	a := defaults()
	a.pets, a.orders = services.Pets, services.Orders
	for _, option := range options {
		option(a)
	}
	if a.authenticate == nil && services.Keys != nil {
		a.authenticate = bearer(services.Keys)
	}
	if a.pets == nil || a.orders == nil {
		return nil, errors.New("rest.New: Services.Pets and Services.Orders must be set")
	}
	if a.authenticate == nil {
		return nil, errors.New("rest.New: set Services.Keys or use WithAuthenticator")
	}
	switch {
	case a.log == nil:
		return nil, errors.New("rest.New: WithLogger was given no logger")
	case a.now == nil:
		return nil, errors.New("rest.New: WithClock was given no clock")
	case a.timeout <= 0:
		return nil, errors.New("rest.New: WithRequestTimeout was given no time")
	case a.cacheBytes > 0 && a.versions == nil:
		return nil, errors.New("rest.New: WithPageCache was given no versions of the store")
	}
	if a.limits != nil {
		if err := a.limits.check(); err != nil {
			return nil, err
		}
	}
	var err error
	if a.pages, err = newPageCache(a.versions, a.cacheBytes, a.metrics); err != nil {
		return nil, err
	}
	if a.registerer != nil {
		if err := a.metrics.register(a.registerer); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// defaults is an API without use cases.
func defaults() *API {
	return &API{
		log:     zap.NewNop(),
		now:     time.Now,
		sunset:  publishedSunset,
		timeout: 10 * time.Second,
		metrics: newMetrics(),
		client:  (*gin.Context).ClientIP,
	}
}

// An Option replaces a default of New.
type Option func(*API)

// WithAuthenticator replaces the bearer API keys.
func WithAuthenticator(authenticate Authenticator) Option {
	return func(a *API) { a.authenticate = authenticate }
}

// WithLogger sends the access log and the causes of failures to log; the default drops them.
func WithLogger(log *zap.Logger) Option {
	return func(a *API) { a.log = log }
}

// WithClock replaces time.Now as the clock of the rate limits and of getPet's removal.
func WithClock(now func() time.Time) Option {
	return func(a *API) { a.now = now }
}

// WithGetPetSunset moves the announced moment of getPet's removal, and the removal with it.
func WithGetPetSunset(sunset time.Time) Option {
	return func(a *API) { a.sunset = sunset.UTC() }
}

// WithRequestTimeout replaces the ten seconds that a request may take, its body included,
// counted from the end of its header. The server's WriteTimeout must be longer.
func WithRequestTimeout(timeout time.Duration) Option {
	return func(a *API) { a.timeout = timeout }
}

// WithPageCache keeps up to about maxBytes of the pages of the lists, each as long
// as nothing happened to the store that could alter it, which versions tells (see
// repository.Store.Versions). By default no page is kept.
func WithPageCache(versions func() (added, changed uint64), maxBytes int64) Option {
	return func(a *API) { a.versions, a.cacheBytes = versions, maxBytes }
}
