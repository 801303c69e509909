package swagger

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const wantPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func TestEveryFileIsServedWithItsTypeAndHeaders(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	for path, contentType := range map[string]string{
		"/swagger/index.html":               "text/html; charset=utf-8",
		"/swagger/index.html?x=/index.html": "text/html; charset=utf-8",
		"/swagger/index.css":                "text/css; charset=utf-8",
		"/swagger/swagger-ui.css":           "text/css; charset=utf-8",
		"/swagger/swagger-initializer.js":   "text/javascript; charset=utf-8",
		"/swagger/swagger-ui-bundle.js":     "text/javascript; charset=utf-8",
		"/swagger/favicon-16x16.png":        "image/png",
		"/swagger/favicon-32x32.png":        "image/png",
		"/openapi.json":                     "application/json",
		"/openapi.yaml":                     "application/yaml",
	} {
		got := get(t, engine, path, "Accept-Encoding: gzip")
		if got.Code != http.StatusOK || got.Body.Len() == 0 {
			t.Errorf("%s: got %d, %d bytes, want 200 and a body", path, got.Code, got.Body.Len())
		}
		for name, want := range map[string]string{
			"Content-Type": contentType, "Content-Security-Policy": wantPolicy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cache-Control": "no-cache", "Content-Length": strconv.Itoa(got.Body.Len()),
		} {
			if got := got.Header().Get(name); got != want {
				t.Errorf("%s: got %s %q, want %q", path, name, got, want)
			}
		}
		head := send(t, engine, http.MethodHead, path)
		if diff := cmp.Diff(got.Header(), head.Header()); diff != "" || head.Body.Len() > 0 {
			t.Errorf("%s: got %d bytes; header (-GET +HEAD):\n%s", path, head.Body.Len(), diff)
		}
	}
}

func TestFilesHaveConditionsAndRanges(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	full, part := get(t, engine, "/openapi.json"), get(t, engine, "/openapi.json", "Range: bytes=10-19")
	if part.Code != http.StatusPartialContent || part.Body.String() != full.Body.String()[10:20] || part.Header().Get("Content-Length") != "10" {
		t.Errorf("got %d %q, want bytes 10 to 19", part.Code, part.Body)
	}
	want, condition := full.Header(), "If-None-Match: "+full.Header().Get("ETag")
	for _, name := range []string{"Accept-Ranges", "Content-Length", "Content-Type"} {
		want.Del(name)
	}
	got := get(t, engine, "/openapi.json", condition)
	if diff := cmp.Diff(want, got.Header()); got.Code != http.StatusNotModified || got.Body.Len() != 0 || diff != "" {
		t.Errorf("got %d with %d bytes, want 304 without body; header (-want +got)\n%s", got.Code, got.Body.Len(), diff)
	}
	if got := get(t, engine, "/openapi.yaml", condition); got.Code != http.StatusOK {
		t.Errorf("got %d for the ETag of another file, want 200", got.Code)
	}
}

// This test is not parallel, because it counts the allocations of the process. io.Copy allocates a buffer of 32 KiB. What
// a request allocates stays in memory until its client has read the response.
func TestResponsesAreSentFromSharedMemory(t *testing.T) {
	engine := newEngine(t, "")
	for _, path := range []string{"/openapi.json", "/swagger/index.html", "/swagger/swagger-ui-bundle.js"} {
		request := func() {
			w := httptest.NewRecorder()
			w.Body = nil
			engine.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		}
		request()
		const requests = 10
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range requests {
			request()
		}
		runtime.ReadMemStats(&after)
		if got := (after.TotalAlloc - before.TotalAlloc) / requests; got > 45_000 {
			t.Errorf("%s: a request allocates %d bytes", path, got)
		}
	}
}
