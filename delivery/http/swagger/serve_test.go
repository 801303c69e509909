package swagger

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// compressible are the paths of the files that are sent compressed.
var compressible = []string{
	"/openapi.json", "/openapi.yaml", "/swagger/index.html", "/swagger/index.css", "/swagger/swagger-initializer.js",
	"/swagger/swagger-ui.css", "/swagger/swagger-ui-bundle.js", "/swagger/swagger-ui-standalone-preset.js", "/swagger/petstore.js", "/swagger/petstore.css",
}

const imagePath = "/swagger/favicon-32x32.png"

func TestRangesAreNotSupported(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	for _, path := range append(compressible, imagePath) {
		full := get(t, engine, path)
		for _, header := range []string{
			"Range: bytes=0-9", "Range: bytes=9999999-", "Range: bytes=abc", `If-Match: "x"`, "If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT",
		} {
			got := get(t, engine, path, header)
			if acceptRanges, ok := got.Header()["Accept-Ranges"]; ok || got.Code != http.StatusOK || got.Body.String() != full.Body.String() {
				t.Errorf("%s %s: got %d with %d bytes and Accept-Ranges %q, want the full file", path, header, got.Code, got.Body.Len(), acceptRanges)
			}
		}
	}
}

func TestFilesAreCompressedWhenGzipIsAccepted(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	for _, path := range compressible {
		plain, compressed := get(t, engine, path), get(t, engine, path, "Accept-Encoding: gzip")
		if got := compressed.Header().Get("Content-Encoding"); got != "gzip" {
			t.Errorf("%s: got Content-Encoding %q, want gzip", path, got)
			continue
		}
		if !bytes.Equal(plain.Body.Bytes(), gunzip(t, compressed.Body)) {
			t.Errorf("%s: the compressed content differs", path)
		}
		if plain.Header().Get("ETag") == compressed.Header().Get("ETag") {
			t.Errorf("%s: got ETag %s for both encodings, want different ones", path, plain.Header().Get("ETag"))
		}
		for _, response := range []*httptest.ResponseRecorder{plain, compressed} {
			if got := response.Header().Get("Vary"); got != "Accept-Encoding" {
				t.Errorf("%s: got Vary %q, want Accept-Encoding", path, got)
			}
			if got, want := response.Header().Get("Content-Type"), plain.Header().Get("Content-Type"); got != want {
				t.Errorf("%s: got Content-Type %q, want %q", path, got, want)
			}
		}
	}
	got := get(t, engine, imagePath, "Accept-Encoding: gzip").Header()
	if got.Get("Content-Encoding") != "" || got.Get("Vary") != "" {
		t.Errorf("image: got headers %v, want no Content-Encoding and no Vary", got)
	}
}

func TestAcceptEncodingSelectsGzip(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	for accept, want := range map[string]string{
		"":                          "",
		"gzip":                      "gzip",
		"GZIP":                      "gzip",
		"x-gzip":                    "gzip",
		"br, gzip;q=0.5":            "gzip",
		"deflate, gzip; q=0.001":    "gzip",
		"*":                         "gzip",
		"gzip, *;q=0":               "gzip",
		"*;q=0, gzip":               "gzip",
		"identity":                  "",
		"br, deflate":               "",
		"gzip;q=0":                  "",
		"gzip;q=0.000":              "",
		"gzip; q=0, *":              "",
		"*, gzip;q=0":               "",
		"*;q=0":                     "",
		"gzip;q=much":               "",
		"gzip;q=NaN":                "",
		"gzipped":                   "",
		";;, \"gzip\", gzip;q, ,":   "",
		"br\x00, gzip":              "gzip",
		strings.Repeat("a,", 1000):  "",
		"identity;q=0, gzip;q=1":    "gzip",
		"compress;q=0.5, gzip;q=1 ": "gzip",
	} {
		if got := get(t, engine, "/openapi.json", "Accept-Encoding: "+accept).Header().Get("Content-Encoding"); got != want {
			t.Errorf("Accept-Encoding %q: got %q, want %q", accept, got, want)
		}
	}
	if got := get(t, engine, "/openapi.json", "Accept-Encoding: br", "Accept-Encoding: gzip").Header().Get("Content-Encoding"); got != "gzip" {
		t.Errorf("two headers: got %q, want gzip", got)
	}
}

// A real server: net/http sets Content-Length and discards the body of a HEAD.
func TestHeadHasTheHeadersOfGet(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newEngine(t, ""))
	t.Cleanup(server.Close)
	for _, path := range append(compressible, imagePath) {
		for _, encoding := range []string{"identity", "gzip"} {
			get, body := fetch(t, http.MethodGet, server.URL+path, encoding)
			head, _ := fetch(t, http.MethodHead, server.URL+path, encoding)
			if got := get.Get("Content-Length"); got != strconv.Itoa(len(body)) {
				t.Errorf("%s as %s: got Content-Length %s, want %d", path, encoding, got, len(body))
			}
			for _, name := range []string{"Content-Type", "Content-Length", "Content-Encoding", "ETag", "Vary", "Cache-Control", "Content-Security-Policy"} {
				if got, want := head.Get(name), get.Get(name); got != want {
					t.Errorf("%s as %s: got %s %q from HEAD and %q from GET", path, encoding, name, got, want)
				}
			}
		}
	}
}

func TestUnchangedFileIsNotModified(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	for _, path := range append(compressible, imagePath) {
		for _, encoding := range []string{"Accept-Encoding: identity", "Accept-Encoding: gzip"} {
			first := get(t, engine, path, encoding).Header()
			etag := first.Get("ETag")
			for _, condition := range []string{etag, "W/" + etag, `"x", ` + etag, "*"} {
				got := get(t, engine, path, encoding, "If-None-Match: "+condition)
				if got.Code != http.StatusNotModified || got.Body.Len() != 0 {
					t.Errorf("%s, %s, %s: got %d with %d bytes, want 304 without body", path, encoding, condition, got.Code, got.Body.Len())
				}
				for _, name := range []string{"ETag", "Vary", "Cache-Control"} {
					if got.Header().Get(name) != first.Get(name) {
						t.Errorf("%s, %s, %s: got %s %q, want %q", path, encoding, condition, name, got.Header().Get(name), first.Get(name))
					}
				}
				for _, name := range []string{"Content-Encoding", "Content-Length", "Content-Type"} {
					if values := got.Header()[name]; values != nil {
						t.Errorf("%s, %s, %s: got %s %q in a 304, want none", path, encoding, condition, name, values)
					}
				}
			}
			if got := get(t, engine, path, encoding, `If-None-Match: "x"`); got.Code != http.StatusOK {
				t.Errorf("%s, %s: got %d for another ETag, want 200", path, encoding, got.Code)
			}
		}
	}
	etag := get(t, engine, "/openapi.json", "Accept-Encoding: gzip").Header().Get("ETag")
	if got := get(t, engine, "/openapi.json", "If-None-Match: "+etag); got.Code != http.StatusOK {
		t.Errorf("got %d for the ETag of the other encoding, want 200", got.Code)
	}
}

func TestConcurrentFirstRequestsGetSameBody(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	var requests sync.WaitGroup
	var mu sync.Mutex
	bodies := map[string][]string{}
	for _, path := range compressible {
		for range 8 {
			requests.Go(func() {
				body := get(t, engine, path, "Accept-Encoding: gzip").Body.String()
				mu.Lock()
				defer mu.Unlock()
				bodies[path] = append(bodies[path], body)
			})
		}
	}
	requests.Wait()
	for path, got := range bodies {
		if len(got) != 8 || len(slices.Compact(got)) != 1 {
			t.Errorf("%s: got different bodies, want 8 equal ones", path)
		}
	}
}

func fetch(t *testing.T, method, path, encoding string) (http.Header, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept-Encoding", encoding)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: got %d, %v", method, path, response.StatusCode, err)
	}
	return response.Header, body
}

func gunzip(t *testing.T, body io.Reader) []byte {
	t.Helper()
	reader, err := gzip.NewReader(body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
