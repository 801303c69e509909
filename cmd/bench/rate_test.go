package main

import (
	"bufio"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSendAtRateSendsAllRequests(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	p := serveAtRate(t, 500, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer key" && r.URL.String() == "/v1/pets" {
			requests.Add(1)
		}
		_, _ = io.WriteString(w, strings.Repeat("x", 1000))
	})
	s, err := sendAtRate(t.Context(), p, 1, time.Second)
	if err != nil || s.requests != 500 || requests.Load() != 500 {
		t.Errorf("sent %d requests, received %d, %v; want 500", s.requests, requests.Load(), err)
	}
	if s.rate > 502 || s.p99 <= 0 {
		t.Errorf("rate %v, p99 %v", s.rate, s.p99)
	}
}

// A server that stalls once for 300 ms delays the requests that are due meanwhile, many
// more than there are connections.
func TestLatencyCountsFromWhenRequestIsDue(t *testing.T) {
	t.Parallel()
	const stall = 300 * time.Millisecond
	var lock sync.RWMutex
	var once sync.Once
	p := serveAtRate(t, 8000, func(w http.ResponseWriter, _ *http.Request) {
		once.Do(func() {
			lock.Lock()
			time.AfterFunc(stall, lock.Unlock)
		})
		lock.RLock()
		defer lock.RUnlock()
		w.WriteHeader(http.StatusCreated)
	})
	s, err := sendAtRate(t.Context(), p, 1, time.Second)
	if err != nil || s.p99 < stall/2 {
		t.Errorf("p99 %v, %v, want more than half of the stall", s.p99, err)
	}
}

func TestSendAtRateReportsFailures(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"status": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, "failed request: HTTP/1.1 401 Unauthorized"},
		"chunks": {func(w http.ResponseWriter, _ *http.Request) { _ = http.NewResponseController(w).Flush() }, "response without Content-Length: HTTP/1.1 200 OK"},
		"closed": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "the server closed a connection"},
	} {
		_, err := sendAtRate(t.Context(), serveAtRate(t, 10, test.handler), 1, time.Second)
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: got the error %v, want %q", name, err, test.want)
		}
	}
}

func serveAtRate(t *testing.T, rate float64, handler http.HandlerFunc) *process {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return &process{server: server{request: request{path: listPath}}, host: s.Listener.Addr().String(), key: "key", rate: rate}
}

func TestResponseLengthOfPartsOfAResponse(t *testing.T) {
	t.Parallel()
	const header, body = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX: y\r\n\r\n", "[{}]"
	for end := range len(header + body) {
		want := -1
		if end >= len(header) {
			want = len(header + body)
		}
		if got, err := responseLength([]byte((header + body)[:end])); err != nil || got != want {
			t.Errorf("of the first %d bytes: %d, %v, want %d", end, got, err, want)
		}
	}
}

func TestRequestIsHTTP(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		request request
		want    []string // method, one of the paths, body
	}{
		"path":   {request{path: listPath}, []string{"GET", "/v1/pets", ""}},
		"random": {request{path: "/v1/pets/", first: 7, step: 3, count: 1}, []string{"GET", "/v1/pets/7", ""}},
		"post":   {request{posts: 100}, []string{"POST", "/v1/pets", newPet}},
	} {
		b := test.request.appendTo(nil, "Host: h\r\nAuthorization: Bearer key\r\n", rand.New(rand.NewPCG(1, 0)))
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(string(b))))
		if err != nil {
			t.Fatal(name, err)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Host != "h" || r.Header.Get("Authorization") != "Bearer key" {
			t.Errorf("%s: %v of %s", name, err, b)
		}
		if diff := cmp.Diff(test.want, []string{r.Method, r.URL.String(), string(body)}); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestMixSendsItsShareOfPosts(t *testing.T) {
	t.Parallel()
	random, posts := rand.New(rand.NewPCG(1, 0)), 0
	for range 10_000 {
		if b := (request{posts: 5}).appendTo(nil, "", random); strings.HasPrefix(string(b), "POST /v1/pets HTTP/1.1") {
			posts++
		} else if !strings.HasPrefix(string(b), "GET /v1/pets HTTP/1.1") {
			t.Fatalf("sends %s", b)
		}
	}
	if posts < 400 || posts > 600 {
		t.Errorf("%d of 10,000 requests are POST, want 5 %%", posts)
	}
}
