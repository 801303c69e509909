package http_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
)

// BenchmarkList answers a page of 20 in the process, without a network: what the
// service adds to the bare Gin handler beside it is what a request costs.
func BenchmarkList(b *testing.B) {
	s := newUnstartedServer(b)
	pets := make([]domain.NewPet, 100)
	for i := range pets {
		pets[i] = domain.NewPet{Name: fmt.Sprintf("Rex %d", i), CategoryID: 7, Status: domain.PetAvailable}
	}
	s.stock(b, pets...)
	s.logger = zap.NewNop()
	engine := s.engine(b, nil, defaultServices, rest.WithMetrics(prometheus.NewRegistry()))
	request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "/v1/pets", http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.key)
	request.RemoteAddr = "127.0.0.1:1"

	b.Run("petstore", func(b *testing.B) { serveAgain(b, engine, request) })
	b.Run("gin", func(b *testing.B) {
		bare := gin.New()
		body := make([]byte, 1500)
		bare.GET("/v1/pets", func(c *gin.Context) { c.Data(http.StatusOK, "application/json", body) })
		serveAgain(b, bare, request)
	})
}

// serveAgain answers a request again and again.
func serveAgain(b *testing.B, handler http.Handler, request *http.Request) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		w := &discard{header: http.Header{}}
		handler.ServeHTTP(w, request)
		if w.status != http.StatusOK {
			b.Fatalf("status %d", w.status)
		}
	}
}

// discard is a ResponseWriter that keeps the status alone.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
