package http

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"example.com/petstore/domain"
)

// A Gate is the handler of a service from its start on. Until it is opened it answers
// /livez, and everything else with 503: a store may take its time to open.
type Gate struct{ handler atomic.Pointer[http.Handler] }

// NewGate returns a closed gate, which logs what it answers. getPetSunset is that of
// WithGetPetSunset, for the headers of getPet.
func NewGate(log *zap.Logger, getPetSunset time.Time) *Gate {
	a := defaults()
	a.log, a.client, a.sunset = log, (*gin.Context).RemoteIP, getPetSunset.UTC()
	engine := gin.New()
	engine.Use(a.middleware()...)
	engine.Match([]string{http.MethodGet, http.MethodHead}, "/livez", a.serve((&Health{}).livez))
	engine.NoRoute(a.DeprecationHeaders(engine.Group("/v1")), func(c *gin.Context) {
		writeError(c, &domain.Error{
			Kind: domain.ErrUnavailable, Code: domain.CodeUnavailable, Message: "the service is starting, try again",
		})
	})
	g := &Gate{}
	g.Open(engine)
	return g
}

// Open lets all requests through to the handler from now on.
func (g *Gate) Open(to http.Handler) { g.handler.Store(&to) }

// ServeHTTP implements http.Handler.
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) { (*g.handler.Load()).ServeHTTP(w, r) }
