package swagger_test

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/gin-gonic/gin"

	"example.com/petstore/delivery/http/swagger"
)

// mountDocument serves a document for which the caller may set the function.
func mountDocument(t *testing.T, document func(baseURL string) []byte) *gin.Engine {
	t.Helper()
	engine := gin.New()
	if err := swagger.Register(engine, swagger.Options{Document: document, NotFound: notFound}); err != nil {
		t.Fatal(err)
	}
	return engine
}

// Not parallel: it counts the allocations of the process. A gzip writer allocates 800 kB.
func TestUnchangedDocumentIsNotCompressedAgain(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789"), 10_000)
	engine := mountDocument(t, func(string) []byte { return bytes.Clone(large) })
	request := func() { get(t, engine, "/openapi.json", "Accept-Encoding: gzip") }
	request()
	const requests = 10
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range requests {
		request()
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / requests; got > 400_000 {
		t.Errorf("a request allocates %d bytes", got)
	}
}

func TestChangedDocumentIsSent(t *testing.T) {
	t.Parallel()
	content := `{"openapi":"3.0.3"}`
	engine := mountDocument(t, func(string) []byte { return []byte(content) })
	first := get(t, engine, "/openapi.json")
	content = `{"openapi":"3.1.0"}`
	second := get(t, engine, "/openapi.json")
	if got := second.Body.String(); got != content || first.Header().Get("ETag") == second.Header().Get("ETag") {
		t.Errorf("got %s with the ETag %s, want %s", got, second.Header().Get("ETag"), content)
	}
}
