package swagger_test

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

// texts are the addresses whose files are sent compressed.
var texts = []string{
	"/openapi.json", "/swagger/index.html", "/swagger/index.css", "/swagger/swagger-initializer.js",
	"/swagger/swagger-ui.css", "/swagger/swagger-ui-bundle.js", "/swagger/swagger-ui-standalone-preset.js", "/swagger/petstore.js", "/swagger/petstore.css",
}

const image = "/swagger/favicon-32x32.png"

func TestRangesAreNotOffered(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	for _, address := range append(texts, image) {
		whole := get(t, engine, address)
		for _, header := range []string{
			"Range: bytes=0-9", "Range: bytes=9999999-", "Range: bytes=abc", `If-Match: "x"`, "If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT",
		} {
			got := get(t, engine, address, header)
			if offer, offered := got.Header()["Accept-Ranges"]; offered || got.Code != http.StatusOK || got.Body.String() != whole.Body.String() {
				t.Errorf("%s %s: got %d with %d bytes and Accept-Ranges %q", address, header, got.Code, got.Body.Len(), offer)
			}
		}
	}
}

func TestFilesAreCompressedForClientsThatAcceptIt(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	for _, address := range texts {
		plain, compressed := get(t, engine, address), get(t, engine, address, "Accept-Encoding: gzip")
		if got := compressed.Header().Get("Content-Encoding"); got != "gzip" {
			t.Errorf("%s: Content-Encoding is %q", address, got)
			continue
		}
		if !bytes.Equal(plain.Body.Bytes(), decompress(t, compressed.Body)) {
			t.Errorf("%s: the compressed content differs", address)
		}
		if plain.Header().Get("ETag") == compressed.Header().Get("ETag") {
			t.Errorf("%s: both encodings have the ETag %s", address, plain.Header().Get("ETag"))
		}
		for _, response := range []*httptest.ResponseRecorder{plain, compressed} {
			if got := response.Header().Get("Vary"); got != "Accept-Encoding" {
				t.Errorf("%s: Vary is %q", address, got)
			}
			if got, want := response.Header().Get("Content-Type"), plain.Header().Get("Content-Type"); got != want {
				t.Errorf("%s: Content-Type is %q, want %q", address, got, want)
			}
		}
	}
	got := get(t, engine, image, "Accept-Encoding: gzip").Header()
	if got.Get("Content-Encoding") != "" || got.Get("Vary") != "" {
		t.Errorf("an image has the headers %v", got)
	}
}

func TestAcceptEncodingIsHonoured(t *testing.T) {
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
		t.Errorf("two headers: got %q", got)
	}
}

// A real server has the last word on Content-Length, and sends no body to HEAD.
func TestHeadHasTheHeadersOfGet(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newEngine(t, ""))
	t.Cleanup(server.Close)
	for _, address := range append(texts, image) {
		for _, encoding := range []string{"identity", "gzip"} {
			get, body := send(t, http.MethodGet, server.URL+address, encoding)
			head, _ := send(t, http.MethodHead, server.URL+address, encoding)
			if got := get.Get("Content-Length"); got != strconv.Itoa(len(body)) {
				t.Errorf("%s as %s: Content-Length is %s, the body has %d bytes", address, encoding, got, len(body))
			}
			for _, name := range []string{"Content-Type", "Content-Length", "Content-Encoding", "ETag", "Vary", "Cache-Control", "Content-Security-Policy"} {
				if got, want := head.Get(name), get.Get(name); got != want {
					t.Errorf("%s as %s: HEAD has %s %q, GET %q", address, encoding, name, got, want)
				}
			}
		}
	}
}

func TestUnchangedFileIsNotSentAgain(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	for _, address := range append(texts, image) {
		for _, encoding := range []string{"Accept-Encoding: identity", "Accept-Encoding: gzip"} {
			first := get(t, engine, address, encoding).Header()
			etag := first.Get("ETag")
			for _, condition := range []string{etag, "W/" + etag, `"x", ` + etag, "*"} {
				got := get(t, engine, address, encoding, "If-None-Match: "+condition)
				if got.Code != http.StatusNotModified || got.Body.Len() != 0 {
					t.Errorf("%s, %s, %s: got %d with %d bytes", address, encoding, condition, got.Code, got.Body.Len())
				}
				for _, name := range []string{"ETag", "Vary", "Cache-Control"} {
					if got.Header().Get(name) != first.Get(name) {
						t.Errorf("%s, %s, %s: %s is %q", address, encoding, condition, name, got.Header().Get(name))
					}
				}
				for _, name := range []string{"Content-Encoding", "Content-Length", "Content-Type"} {
					if values := got.Header()[name]; values != nil {
						t.Errorf("%s, %s, %s: a 304 has %s %q", address, encoding, condition, name, values)
					}
				}
			}
			if got := get(t, engine, address, encoding, `If-None-Match: "x"`); got.Code != http.StatusOK {
				t.Errorf("%s, %s: another ETag gives %d", address, encoding, got.Code)
			}
		}
	}
	etag := get(t, engine, "/openapi.json", "Accept-Encoding: gzip").Header().Get("ETag")
	if got := get(t, engine, "/openapi.json", "If-None-Match: "+etag); got.Code != http.StatusOK {
		t.Errorf("the ETag of the other encoding gives %d", got.Code)
	}
}

func TestConcurrentFirstRequestsGetTheSame(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	var requests sync.WaitGroup
	var mu sync.Mutex
	bodies := map[string][]string{}
	for _, address := range texts {
		for range 8 {
			requests.Go(func() {
				body := get(t, engine, address, "Accept-Encoding: gzip").Body.String()
				mu.Lock()
				defer mu.Unlock()
				bodies[address] = append(bodies[address], body)
			})
		}
	}
	requests.Wait()
	for address, got := range bodies {
		if len(got) != 8 || len(slices.Compact(got)) != 1 {
			t.Errorf("%s: clients got different bodies", address)
		}
	}
}

func send(t *testing.T, method, address, encoding string) (http.Header, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, http.NoBody)
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
		t.Fatalf("%s %s: got %d, %v", method, address, response.StatusCode, err)
	}
	return response.Header, body
}

func decompress(t *testing.T, body io.Reader) []byte {
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
