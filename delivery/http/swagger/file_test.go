package swagger

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// compressible are the paths of the files that are sent compressed.
var compressible = []string{
	"/openapi.json", "/swagger/index.html", "/swagger/index.css", "/swagger/swagger-initializer.js",
	"/swagger/swagger-ui.css", "/swagger/swagger-ui-bundle.js",
}

const imagePath = "/swagger/favicon-32x32.png"

func TestRangeIsPartOfTheEncodedFile(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	for _, encoding := range []string{"Accept-Encoding: identity", "Accept-Encoding: gzip"} {
		full := get(t, engine, "/openapi.json", encoding).Body.String()
		got := get(t, engine, "/openapi.json", encoding, "Range: bytes=10-19")
		if got.Code != http.StatusPartialContent || got.Body.String() != full[10:20] || got.Header().Get("Content-Length") != "10" {
			t.Errorf("%s: got %d %q, want bytes 10 to 19", encoding, got.Code, got.Body)
		}
	}
}

func TestAcceptEncodingSelectsGzip(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	for want, accepted := range map[string][]string{
		"gzip": {"gzip", "gzip, deflate, br", "br, deflate, gzip", "br\x00, gzip"},
		"":     {"", "identity", "br, deflate", "gzip;q=0", "gzip; q=0.000, *", "br, gzip;q=0.5", "*", `;;, "x", q, ,`},
	} {
		for _, accept := range accepted {
			if got := get(t, engine, "/openapi.json", "Accept-Encoding: "+accept).Header().Get("Content-Encoding"); got != want {
				t.Errorf("Accept-Encoding %q: got %q, want %q", accept, got, want)
			}
		}
	}
}

// A real server: net/http sets Content-Length and discards the body of a HEAD.
func TestFilesAreCompressedWhenGzipIsAccepted(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newEngine(t, ""))
	t.Cleanup(server.Close)
	send := func(method, path, encoding string) (http.Header, []byte) {
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept-Encoding", encoding)
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s %s: got %d, %v", method, path, response.StatusCode, err)
		}
		response.Header.Del("Date")
		return response.Header, body
	}
	for _, path := range append(compressible, imagePath) {
		etags := map[string]bool{}
		content := map[string][]byte{}
		for _, encoding := range []string{"identity", "gzip"} {
			header, body := send(http.MethodGet, path, encoding)
			if got := header.Get("Content-Length"); got != strconv.Itoa(len(body)) {
				t.Errorf("%s as %s: got Content-Length %s, want %d", path, encoding, got, len(body))
			}
			head, _ := send(http.MethodHead, path, encoding)
			if diff := cmp.Diff(header, head); diff != "" {
				t.Errorf("%s as %s: header (-GET +HEAD):\n%s", path, encoding, diff)
			}
			wantEncoding, wantVary := "", ""
			if path != imagePath {
				wantVary = "Accept-Encoding"
			}
			if content[encoding] = body; encoding == "gzip" && path != imagePath {
				wantEncoding = "gzip"
				reader, err := gzip.NewReader(bytes.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				if content[encoding], err = io.ReadAll(reader); err != nil {
					t.Fatal(err)
				}
			}
			if got, vary := header.Get("Content-Encoding"), header.Get("Vary"); got != wantEncoding || vary != wantVary {
				t.Errorf("%s as %s: got Content-Encoding %q and Vary %q, want %q and %q", path, encoding, got, vary, wantEncoding, wantVary)
			}
			etags[header.Get("ETag")] = true
		}
		if !bytes.Equal(content["identity"], content["gzip"]) || (len(etags) == 2) != (path != imagePath) {
			t.Errorf("%s: the contents differ, or got the ETags %v", path, etags)
		}
	}
}

func TestUnchangedFileIsNotModified(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	for encoding, other := range map[string]string{"Accept-Encoding: identity": "Accept-Encoding: gzip", "Accept-Encoding: gzip": "Accept-Encoding: identity"} {
		want := get(t, engine, "/openapi.json", encoding).Header()
		condition := "If-None-Match: " + want.Get("ETag")
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

// Not parallel: it counts the allocations of the process. A gzip writer allocates 800 kB. What
// a request allocates is in memory for as long as its client does not read the response: the buffer
// of io.Copy, of 32 KiB.
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
