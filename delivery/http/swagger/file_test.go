package swagger

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const wantPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func TestEveryFileIsServedWithItsTypeAndHeadersAndCompressed(t *testing.T) {
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
		plain, compressed := get(t, engine, path), get(t, engine, path, "Accept-Encoding: gzip")
		if plain.Code != http.StatusOK || plain.Body.Len() == 0 {
			t.Errorf("%s: got %d, %d bytes, want 200 and a body", path, plain.Code, plain.Body.Len())
		}
		for name, want := range map[string]string{
			"Content-Type": contentType, "Content-Security-Policy": wantPolicy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cache-Control": "no-cache",
		} {
			if got := plain.Header().Get(name); got != want {
				t.Errorf("%s: got %s %q, want %q", path, name, got, want)
			}
		}
		for encoding, got := range map[string]*httptest.ResponseRecorder{"identity": plain, "gzip": compressed} {
			if length := got.Header().Get("Content-Length"); length != strconv.Itoa(got.Body.Len()) {
				t.Errorf("%s as %s: got Content-Length %s, want %d", path, encoding, length, got.Body.Len())
			}
			head := send(t, engine, http.MethodHead, path, "Accept-Encoding: "+encoding)
			if diff := cmp.Diff(got.Header(), head.Header()); diff != "" || head.Body.Len() > 0 {
				t.Errorf("%s as %s: got %d bytes; header (-GET +HEAD):\n%s", path, encoding, head.Body.Len(), diff)
			}
		}
		want, content, compressible := plain.Header().Clone(), compressed.Body.Bytes(), contentType != "image/png"
		if compressible {
			want.Set("Vary", "Accept-Encoding")
			want.Set("Content-Encoding", "gzip")
			want.Set("Content-Length", strconv.Itoa(len(content)))
			want.Set("ETag", strings.TrimSuffix(want.Get("ETag"), `"`)+`-gzip"`)
			reader, err := gzip.NewReader(compressed.Body)
			if err != nil {
				t.Fatal(err)
			}
			content, err = io.ReadAll(reader)
			if err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff(want, compressed.Header()); diff != "" || (plain.Header().Get("Vary") != "") != compressible {
			t.Errorf("%s: got Vary %q without gzip; header with gzip (-want +got):\n%s", path, plain.Header()["Vary"], diff)
		}
		if !bytes.Equal(content, plain.Body.Bytes()) {
			t.Errorf("%s: the contents differ", path)
		}
	}
}

func TestAcceptEncodingSelectsGzip(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	for want, accepted := range map[string][]string{
		"gzip": {
			"gzip", "gzip, deflate, br", "br, deflate, gzip", "br\x00, gzip", "gzip;q=1.0", "GZIP ; Q=0.001", "br, gzip;q=0.5", "*", "br;q=1,*;q=0.1",
			"deflate, gzip;q=1.0, *;q=0.5", "identity;q=0.5, gzip;q=0.5", "identity;q=0, gzip;q=0.1", "*;q=0, gzip",
		},
		"": {
			"", "identity", "br, deflate", "gzip;q=0", "gzip; q=0.000, *", `;;, "x", q, ,`, "*;q=0", "identity, *;q=0", "identity;q=1, gzip;q=0.5",
			"identity, *;q=0.5",
			"gzip;q=nan", "gzip;q=-1",
		},
	} {
		for _, accept := range accepted {
			if got := get(t, engine, "/openapi.json", "Accept-Encoding: "+accept).Header().Get("Content-Encoding"); got != want {
				t.Errorf("Accept-Encoding %q: got %q, want %q", accept, got, want)
			}
		}
	}
}

func TestConditionAndRangeAreThoseOfTheEncodedFile(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	const identity, gzipped = "Accept-Encoding: identity", "Accept-Encoding: gzip"
	for encoding, other := range map[string]string{identity: gzipped, gzipped: identity} {
		full, part := get(t, engine, "/openapi.json", encoding), get(t, engine, "/openapi.json", encoding, "Range: bytes=10-19")
		if part.Code != http.StatusPartialContent || part.Body.String() != full.Body.String()[10:20] || part.Header().Get("Content-Length") != "10" {
			t.Errorf("%s: got %d %q, want bytes 10 to 19", encoding, part.Code, part.Body)
		}
		want, condition := full.Header(), "If-None-Match: "+full.Header().Get("ETag")
		for _, name := range []string{"Accept-Ranges", "Content-Encoding", "Content-Length", "Content-Type"} {
			want.Del(name)
		}
		got := get(t, engine, "/openapi.json", encoding, condition)
		if diff := cmp.Diff(want, got.Header()); got.Code != http.StatusNotModified || got.Body.Len() != 0 || diff != "" {
			t.Errorf("%s: got %d with %d bytes, want 304 without body; header (-want +got)\n%s", encoding, got.Code, got.Body.Len(), diff)
		}
		if got := get(t, engine, "/openapi.json", other, condition); got.Code != http.StatusOK {
			t.Errorf("%s: got %d for the ETag of the other encoding, want 200", other, got.Code)
		}
	}
}

// This test is not parallel, because it counts the allocations of the process. A gzip writer allocates 800
// kB, and io.Copy a buffer of 32 KiB. What a request allocates stays in memory until its client has read
// the response.
func TestResponsesAreSentFromSharedMemory(t *testing.T) {
	engine := newEngine(t, "")
	for _, path := range []string{"/openapi.json", "/swagger/index.html", "/swagger/swagger-ui-bundle.js"} {
		for _, encoding := range []string{"identity", "gzip"} {
			request := func() {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
				r.Header.Set("Accept-Encoding", encoding)
				w := httptest.NewRecorder()
				w.Body = nil
				engine.ServeHTTP(w, r)
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
				t.Errorf("%s as %s: a request allocates %d bytes", path, encoding, got)
			}
		}
	}
}
