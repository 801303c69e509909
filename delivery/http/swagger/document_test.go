package swagger

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
)

// mountDocument serves a document for which the caller may set the function.
func mountDocument(t *testing.T, document func(baseURL string) (head, tail []byte)) *gin.Engine {
	t.Helper()
	engine := gin.New()
	if err := mount(engine, document, document, nil); err != nil {
		t.Fatal(err)
	}
	return engine
}

// A discarder is a response whose body is discarded.
type discarder struct {
	http.ResponseWriter
	size int
}

func (d *discarder) Write(p []byte) (int, error) {
	d.size += len(p)
	return len(p), nil
}

// Not parallel: it counts the allocations of the process. A gzip writer allocates 800 kB. What
// a request allocates is in memory for as long as its client does not read the response:
// io.Copy allocates 32 KiB.
func TestResponsesAreSentFromSharedMemory(t *testing.T) {
	tail := bytes.Repeat([]byte("0123456789"), 100_000)
	engine := mountDocument(t, func(baseURL string) ([]byte, []byte) { return []byte(baseURL), tail })
	for _, path := range []string{"/openapi.json", "/swagger/swagger-ui-bundle.js"} {
		for _, encoding := range []string{"identity", "gzip"} {
			size := 0
			request := func(host string) {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
				r.Host = host
				r.Header.Set("Accept-Encoding", encoding)
				w := &discarder{ResponseWriter: httptest.NewRecorder()}
				engine.ServeHTTP(w, r)
				size = w.size
			}
			request("first.example")
			const requests = 10
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for i := range requests {
				request(fmt.Sprintf("pets-%d.example", i))
			}
			runtime.ReadMemStats(&after)
			if got := (after.TotalAlloc - before.TotalAlloc) / requests; got > 30_000 || size < 1000 {
				t.Errorf("%s as %s: a request allocates %d bytes and sends %d", path, encoding, got, size)
			}
		}
	}
}

func TestChangedDocumentIsSent(t *testing.T) {
	t.Parallel()
	content := `{"openapi":"3.0.3"}`
	engine := mountDocument(t, func(string) ([]byte, []byte) { return nil, []byte(content) })
	first := get(t, engine, "/openapi.json")
	content = `{"openapi":"3.1.0"}`
	second := get(t, engine, "/openapi.json")
	if got := second.Body.String(); got != content || first.Header().Get("ETag") == second.Header().Get("ETag") {
		t.Errorf("got %s with the ETag %s, want %s", got, second.Header().Get("ETag"), content)
	}
}

// A stored block of DEFLATE has at most 65,535 bytes.
func TestPartsOfAnySizeAreCompressed(t *testing.T) {
	t.Parallel()
	for _, head := range []int{0, 1, 65_535, 65_536, 200_000} {
		for _, tail := range []int{0, 1, 200_000} {
			want := strings.Repeat("h", head) + strings.Repeat("t", tail)
			engine := mountDocument(t, func(string) ([]byte, []byte) { return []byte(want[:head]), []byte(want[head:]) })
			if got := string(gunzip(t, get(t, engine, "/openapi.json", "Accept-Encoding: gzip").Body)); got != want {
				t.Errorf("%d and %d bytes: got %d others", head, tail, len(got))
			}
			if got := get(t, engine, "/openapi.json").Body.String(); got != want {
				t.Errorf("%d and %d bytes: got %d others without compression", head, tail, len(got))
			}
		}
	}
}
