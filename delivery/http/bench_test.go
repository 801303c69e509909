package http_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"example.com/petstore/domain"
)

// BenchmarkList compares a cached page of 20 pets with a Gin handler that writes a body of
// about the same size, without a network.
func BenchmarkList(b *testing.B) {
	s := newUnstartedServer(b)
	pets := make([]domain.NewPet, 100)
	for i := range pets {
		pets[i] = domain.NewPet{Name: fmt.Sprintf("Rex %d", i), CategoryID: 7, Status: domain.PetAvailable}
	}
	s.createPets(b, pets...)
	s.logger = zap.NewNop()
	engine := s.engine(b, nil, withMetrics(prometheus.NewRegistry()))
	request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "/v1/pets", http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.key)
	request.RemoteAddr = "127.0.0.1:1"

	b.Run("petstore", func(b *testing.B) { benchmarkHandler(b, engine, request) })
	b.Run("gin", func(b *testing.B) {
		bare := gin.New()
		body := make([]byte, 1500)
		bare.GET("/v1/pets", func(c *gin.Context) { c.Data(http.StatusOK, "application/json", body) })
		benchmarkHandler(b, bare, request)
	})
}

func benchmarkHandler(b *testing.B, handler http.Handler, request *http.Request) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		w := &discardWriter{header: http.Header{}}
		handler.ServeHTTP(w, request)
		if w.status != http.StatusOK {
			b.Fatalf("got status %d, want 200", w.status)
		}
	}
}

// A discardWriter is an http.ResponseWriter that discards the body.
type discardWriter struct {
	header http.Header
	status int
}

func (w *discardWriter) Header() http.Header         { return w.header }
func (w *discardWriter) WriteHeader(status int)      { w.status = status }
func (w *discardWriter) Write(p []byte) (int, error) { return len(p), nil }
