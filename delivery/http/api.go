package http

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"example.com/petstore/domain"
)

// Pets are the use cases of the catalogue. usecase.Pets implements it.
type Pets interface {
	List(ctx context.Context, q domain.PetQuery) (domain.Page[domain.Pet], error)
	Get(ctx context.Context, id int64) (domain.Pet, error)
	Create(ctx context.Context, pet domain.NewPet, key domain.IdempotencyKey) (created domain.Pet, replayed bool, err error)
}

// Orders are the use cases of the orders. usecase.Orders implements it.
type Orders interface {
	List(ctx context.Context, q domain.OrderQuery) (domain.Page[domain.Order], error)
	Get(ctx context.Context, id int64) (domain.Order, error)
	Place(ctx context.Context, petID int64, key domain.IdempotencyKey) (placed domain.Order, replayed bool, err error)
	Deliver(ctx context.Context, id int64) (domain.Order, error)
	Cancel(ctx context.Context, id int64) (domain.Order, error)
}

// Keys authenticates API keys. usecase.Keys implements it.
type Keys interface {
	Authenticate(ctx context.Context, secret string) (domain.APIKey, error)
}

// Services are the use cases that the API calls. Keys may be nil if the option
// WithAuthenticator is used.
type Services struct {
	Pets   Pets
	Orders Orders
	Keys   Keys
}

// An API serves the operations of the service. New creates one, Register mounts it.
type API struct {
	pets          Pets
	orders        Orders
	authenticator Authenticator
	bearer        bool // authenticator is that for API keys
	log           *zap.Logger
	now           func() time.Time
	sunset        time.Time
	timeout       time.Duration
	registerer    prometheus.Registerer // nil if no metrics are collected
	metrics       *metrics
	limits        *rateLimits     // nil if requests are not limited
	trace         gin.HandlerFunc // nil without tracing
	origins       []string
	cors          gin.HandlerFunc // nil if no other origins are allowed
	versions      func(context.Context) (added, changed uint64, err error)
	cacheBytes    int64
	outage        outage
	pages         *pageCache
}

// New returns an API for the services. It returns an error if a service is missing or an
// option is invalid.
func New(services Services, options ...Option) (*API, error) {
	a := &API{
		pets:    services.Pets,
		orders:  services.Orders,
		log:     zap.NewNop(),
		now:     time.Now,
		sunset:  domain.GetPetSunset,
		timeout: 10 * time.Second,
		metrics: newMetrics(),
	}
	for _, option := range options {
		option(a)
	}
	if a.authenticator == nil && services.Keys != nil {
		a.authenticator, a.bearer = bearerAuthenticator(services.Keys), true
	}
	if err := a.validate(); err != nil {
		return nil, err
	}
	a.cors = allowOrigins(a.origins)
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

// validate returns an error if a service is missing or an option is invalid.
func (a *API) validate() error {
	for _, origin := range a.origins {
		if !isOrigin(origin) {
			return fmt.Errorf("rest.New: WithAllowedOrigins was given %q: use the origin of a page, such as https://shop.example.com", origin)
		}
	}
	switch {
	case a.pets == nil || a.orders == nil:
		return errors.New("rest.New: Services.Pets and Services.Orders must be set")
	case a.authenticator == nil:
		return errors.New("rest.New: set Services.Keys or use WithAuthenticator")
	case a.log == nil:
		return errors.New("rest.New: WithLogger was given no logger")
	case a.now == nil:
		return errors.New("rest.New: WithClock was given no clock")
	case a.timeout <= 0:
		return errors.New("rest.New: WithRequestTimeout was given no positive timeout")
	case a.sunset.Before(domain.GetPetDeprecation): // which RFC 9745 forbids
		return fmt.Errorf("rest.New: WithGetPetSunset was given %s, which is before the deprecation: use %s or later",
			a.sunset.Format(time.RFC3339), domain.GetPetDeprecation.Format(time.RFC3339))
	case a.cacheBytes > 0 && a.versions == nil:
		return errors.New("rest.New: WithPageCache was given no function for the versions of the store")
	case a.limits != nil:
		return a.limits.validate()
	}
	return nil
}

// An Option changes a default of New. Options of one concern are in its file.
type Option func(*API)

// WithLogger sends the access log and the causes of 5xx responses to log (see Fail). By
// default nothing is logged.
func WithLogger(log *zap.Logger) Option {
	return func(a *API) { a.log = log }
}

// WithClock replaces time.Now as the clock of the rate limit and of the removal of getPet.
func WithClock(now func() time.Time) Option {
	return func(a *API) { a.now = now }
}

// WithRequestTimeout replaces the default timeout of ten seconds for a request, which
// starts at the end of its header and includes its body. The WriteTimeout of the server
// must be longer.
func WithRequestTimeout(timeout time.Duration) Option {
	return func(a *API) { a.timeout = timeout }
}
