package http

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/internal/origin"
)

// Pets has the use cases of the catalogue. usecase.Pets implements it.
type Pets interface {
	List(ctx context.Context, q domain.PetQuery) (domain.Page[domain.Pet], error)
	Create(ctx context.Context, pet domain.NewPet, key domain.IdempotencyKey) (created domain.Pet, replayed bool, err error)
	CreateAll(ctx context.Context, pets []domain.NewPet, key domain.IdempotencyKey) (created []domain.Pet, replayed bool, err error)
	Update(ctx context.Context, id int64, patch domain.PetPatch, matches func(domain.Pet) bool) (updated domain.Pet, changed bool, err error)
	Delete(ctx context.Context, id int64, matches func(domain.Pet) bool) error
	Inventory(ctx context.Context, categoryID *int64) (domain.Inventory, error)
}

// Orders has the use cases of the orders. usecase.Orders implements it.
type Orders interface {
	List(ctx context.Context, q domain.OrderQuery) (domain.Page[domain.Order], error)
	Place(ctx context.Context, petID int64, key domain.IdempotencyKey) (placed domain.Order, replayed bool, err error)
	Deliver(ctx context.Context, id int64) (delivered domain.Order, changed bool, err error)
	Cancel(ctx context.Context, id int64) (cancelled domain.Order, changed bool, err error)
}

// Categories has the use cases of the categories. usecase.Categories implements it.
type Categories interface {
	List(ctx context.Context, q domain.CategoryQuery) (domain.Page[domain.CategoryInventory], error)
	Put(ctx context.Context, category domain.Category) (named domain.CategoryInventory, changed bool, err error)
	Delete(ctx context.Context, id int64) error
}

// Changes has the use cases of the changes. usecase.Changes implements it.
type Changes interface {
	List(ctx context.Context, page domain.PageRequest) (domain.ChangePage, error)
}

// Keys authenticates API keys. usecase.Keys implements it.
type Keys interface {
	Authenticate(ctx context.Context, secret string) (apikey.Key, error)
}

// A Service is what an API serves. petstore.New sets it. Keys may be nil with Options.Authenticate, and StaleIfUnavailable
// alone needs NumbersAge.
type Service struct {
	Pets       Pets
	Orders     Orders
	Categories Categories
	Changes    Changes
	Keys       Keys
	// Numbers returns the numbers of the store (see repository.Store.Numbers), which show whether a cached page is stale. If
	// Numbers returns an error, only stale pages are used (see Options.StaleIfUnavailable).
	Numbers func(context.Context) (domain.Numbers, error)
	// NumbersAge returns for how long the Numbers may have missed the commits of other processes (see
	// repository.Store.NumbersAge).
	NumbersAge func() time.Duration
	// Remote says whether a read waits for a database server. If so, single records are not cached.
	Remote bool
	// Now is the clock for the rate limit and for the removal of getPet, time.Now when nil. It must be monotonic.
	Now func() time.Time
}

// Options are the options of New. All may be left out.
type Options struct {
	// ChangeStreams is the maximum number of open streams of changes of a caller, 10 when zero.
	ChangeStreams int
	// Authenticate, if not nil, replaces the authentication by API keys (Bearer).
	Authenticate Authenticator
	// Logger, if not nil, gets the access log and the causes of 5xx responses (see Fail). petstore.NewLogger returns one for
	// a slog.Handler.
	Logger *zap.Logger
	// Metrics, if not nil, gets the metrics of the API. Two APIs on one registry need different labels
	// (prometheus.WrapRegistererWith), otherwise New returns an error for the second one. The metrics and their labels:
	//
	//	petstore_http_request_duration_seconds      route, method, status (499 if the client disconnected)
	//	petstore_http_requests_in_flight
	//	petstore_http_deprecated_requests_total     key_id
	//	petstore_http_rate_limited_requests_total   key_id
	//	petstore_http_page_cache_requests_total     result (hit, miss, stale)
	//	petstore_changes_streams
	//	petstore_changes_lag
	//
	// With Authenticate, the label is caller instead of key_id.
	Metrics prometheus.Registerer
	// TracerProvider, if not nil, creates a span for every request, and in it a span for each statement. The parent is the
	// span in the context of the request, or else the span that the header traceparent names (W3C Trace Context). A span
	// has the route. It has no path, no query and no header such as Host, which may contain secrets, and no unknown method,
	// which may have any length.
	TracerProvider trace.TracerProvider
	// RequestTimeout is how long reading the body of a request may take, 10 s when zero. It begins at the end of the
	// header. The WriteTimeout of the server must be longer.
	RequestTimeout time.Duration
	// RateLimit is the limit of requests for each caller.
	RateLimit RateLimit
	// IgnoredParameters are the names of query parameters of the host, such as "tenant". The API ignores them; it rejects
	// other parameters that an operation does not have. Links to the next page have none of them.
	IgnoredParameters []string
	// AllowedOrigins are the origins whose web pages may use the API (CORS), with an API key but not with cookies.
	// If it is empty, only pages of the same origin can. Write an origin as a browser sends it (RFC 6454, section
	// 6.2), such as https://shop.example.com, or capacitor://localhost for an application. One * may stand for the
	// first label of the host, as in https://*.example.com, or for the port. "*" alone is every origin; it must be
	// the only element. New returns an error for an invalid origin, and for "null", which any page can send.
	AllowedOrigins []string
	// CacheBytes is the approximate size of the cache of encoded pages: 16 MiB when zero, no cache when negative. A page
	// is a page of a list, a single record or the inventory.
	CacheBytes int64
	// StaleIfUnavailable is how long cached pages are sent while the store is unavailable (stale-if-error, RFC 5861,
	// section 4). Such a response has the header Age and no ETag. When zero, the page is read from the store, and the
	// response is an error if that fails, too. An API key that was used before stays valid as long.
	StaleIfUnavailable time.Duration
}

// An API serves the operations of the service. New creates one, Mount mounts it.
type API struct {
	pets          Pets
	orders        Orders
	categories    Categories
	changes       Changes
	streams       *changeStreams
	authenticator Authenticator
	bearer        bool   // authenticator checks API keys
	callerPrefix  string // before the name of the caller in the changes
	callerField   string // the name of the caller in the log, and its label in the metrics
	log           *zap.Logger
	unavailable   *zap.Logger // writes at most one entry of a kind a minute
	outages       outages
	now           func() time.Time
	timeout       time.Duration
	ignored       []string // names of query parameters
	measured      bool     // whether the metrics are registered
	metrics       *metrics
	limits        *rateLimits     // nil if requests are not limited
	trace         gin.HandlerFunc // nil without tracing
	cors          gin.HandlerFunc // nil if no other origins are allowed
	pages         *pageCache
	basePath      string // empty before Mount
}

// New returns an API. It returns an error if something of the service is missing, or an option is invalid.
func New(s Service, o Options) (*API, error) {
	if err := cmp.Or(s.missing(o), o.Validate()); err != nil {
		return nil, fmt.Errorf("rest.New: %w", err)
	}
	a := &API{
		pets:          s.Pets,
		orders:        s.Orders,
		categories:    s.Categories,
		changes:       s.Changes,
		authenticator: o.Authenticate,
		log:           cmp.Or(o.Logger, zap.NewNop()),
		now:           s.Now,
		timeout:       cmp.Or(o.RequestTimeout, 10*time.Second),
		callerPrefix:  "user:",
		ignored:       slices.Clone(o.IgnoredParameters),
		callerField:   "caller",
		measured:      o.Metrics != nil,
		limits:        newRateLimits(o.RateLimit),
		trace:         traceRequests(o.TracerProvider),
		cors:          allowOrigins(o.AllowedOrigins),
	}
	a.unavailable = a.log.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(core, time.Minute, 1, 0)
	}))
	if a.now == nil {
		a.now = time.Now
	}
	if a.authenticator == nil {
		a.authenticator, a.bearer = bearerAuthenticator(s.Keys), true
		a.callerPrefix, a.callerField = "key:", "key_id"
	}
	a.streams = newChangeStreams(&s, &o)
	a.metrics = newMetrics(a.callerField, a.streams)
	var err error
	if a.pages, err = newPageCache(&s, &o, a.metrics); err != nil {
		return nil, err
	}
	if a.measured {
		if err := o.Metrics.Register(a.metrics); err != nil {
			return nil, fmt.Errorf("rest.New: this registry has the metrics of another API: give Options.Metrics another registry or "+
				"add a label: %w", err)
		}
	}
	return a, nil
}

// missing returns an error if something is missing that every service or an option requires.
func (s *Service) missing(o Options) error {
	switch {
	case s.Pets == nil || s.Orders == nil || s.Categories == nil || s.Changes == nil || s.Numbers == nil:
		return errors.New("set Service.Pets, Service.Orders, Service.Categories, Service.Changes and Service.Numbers")
	case o.Authenticate == nil && s.Keys == nil:
		return errors.New("set Service.Keys or Options.Authenticate")
	case o.StaleIfUnavailable > 0 && s.NumbersAge == nil:
		return errors.New("Options.StaleIfUnavailable requires Service.NumbersAge")
	}
	return nil
}

// Validate returns an error if an option is invalid.
func (o *Options) Validate() error {
	for _, allowed := range o.AllowedOrigins {
		if !origin.Valid(allowed, len(o.AllowedOrigins) > 1) {
			return fmt.Errorf("Options.AllowedOrigins has %q: use origins as a browser sends them, such as https://shop.example.com or "+
				"https://*.example.com, or * alone", allowed)
		}
	}
	if o.RequestTimeout < 0 {
		return errors.New("Options.RequestTimeout is negative")
	}
	if o.StaleIfUnavailable < 0 {
		return errors.New("Options.StaleIfUnavailable is negative")
	}
	if o.ChangeStreams < 0 {
		return errors.New("Options.ChangeStreams is negative")
	}
	return o.RateLimit.validate()
}
