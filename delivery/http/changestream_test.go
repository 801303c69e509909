package http_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap/zaptest/observer"

	"example.com/petstore/delivery/http/server"
	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
)

// startStreams serves an API whose streams check their authorization often.
func startStreams(t *testing.T, timeouts server.Timeouts, options ...option) *testServer {
	t.Helper()
	s := newUnstartedServer(t)
	s.serve(t, s.streamEngine(t, options...), timeouts)
	return s
}

func (s *testServer) streamEngine(t *testing.T, options ...option) *gin.Engine {
	t.Helper()
	api := s.api(t, options...)
	api.SetStreamTimes(10*time.Millisecond, 500*time.Millisecond)
	engine, err := server.NewEngine(api, s.health, nil)
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// A stream is the response to a request for a stream of changes.
type stream struct {
	*http.Response
	lines *bufio.Scanner
	close context.CancelFunc
}

// stream requests a stream, which ends with the test at the latest.
func (s *testServer) stream(t *testing.T, client *http.Client, path string, header ...string) stream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.key)
	req.Header.Set("Accept", "text/event-stream")
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return stream{res, bufio.NewScanner(res.Body), cancel}
}

// next returns the lines up to the next empty one, or false at the end of the stream.
func (s stream) next() (part string, ok bool) {
	for s.lines.Scan() {
		if s.lines.Text() == "" {
			return part, true
		}
		part += s.lines.Text() + "\n"
	}
	return part, false
}

// event returns the next event, after any comments.
func (s stream) event(t *testing.T) string {
	t.Helper()
	for {
		part, ok := s.next()
		if !ok {
			t.Fatalf("the stream has ended: %v", s.lines.Err())
		}
		if !strings.HasPrefix(part, ":\nid: ") {
			return part
		}
	}
}

// wantEnd expects only comments until the end.
func (s stream) wantEnd(t *testing.T) {
	t.Helper()
	for {
		part, ok := s.next()
		switch {
		case !ok && s.lines.Err() == nil && part == "":
			return
		case !ok || !strings.HasPrefix(part, ":\nid: "):
			t.Fatalf("got %q and the error %v, want the end", part, s.lines.Err())
		}
	}
}

// eventOf is the beginning of an event.
func eventOf(seq int64, kind, record string) string {
	return fmt.Sprintf("id: %d\nevent: %s\ndata: {\"seq\":%d,\"type\":\"%s\",\"at\":\"", seq, kind, seq, kind) + "|" + record + "}\n"
}

func wantEvent(t *testing.T, got, want string) {
	t.Helper()
	prefix, suffix, _ := strings.Cut(want, "|")
	if !strings.HasPrefix(got, prefix) || !strings.HasSuffix(got, suffix) {
		t.Errorf("got the event %q, want %q", got, want)
	}
}

func TestStreamSendsChanges(t *testing.T) {
	t.Parallel()
	s := startStreams(t, longTimeouts)
	begin := positionOf(t, s.expect(t, get("/v1/pets"), ok(`[]`)))
	s.createPets(t, newPets(250, domain.PetAvailable)...)
	changes := s.stream(t, s.client, "/v1/changes", "Accept: application/json;q=0.5, text/event-stream; q=0.7, */*;q=0.1")
	if got := changes.Header.Get("Content-Type"); changes.StatusCode != 200 || got != "text/event-stream" || changes.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("got status %d and the header %v", changes.StatusCode, changes.Header)
	}
	for i := range int64(250) {
		record := fmt.Sprintf(`,"pet":{"id":%d,"name":"Rex","categoryId":7,"status":"available"}`, i+1)
		wantEvent(t, changes.event(t), eventOf(begin+1+i, "pet.added", record))
	}
	if part, _ := changes.next(); part != fmt.Sprintf(":\nid: %d\n", begin+250) {
		t.Errorf("got %q, want a comment after a time without events", part)
	}
	s.expect(t, postOrder(`{"petId":1}`), created(""))
	wantEvent(t, changes.event(t), eventOf(begin+251, "pet.updated", `,"pet":{"id":1,"name":"Rex","categoryId":7,"status":"pending"}`))
	wantEvent(t, changes.event(t), eventOf(begin+252, "order.placed",
		`,"order":{"id":1,"petId":1,"status":"placed","createdAt":"2026-11-20T12:00:00.000Z","updatedAt":"2026-11-20T12:00:00.000Z"}`))
	resumed := s.stream(t, s.client, "/v1/changes?after=1", fmt.Sprint("Last-Event-ID: ", begin+251))
	wantEvent(t, resumed.event(t), eventOf(begin+252, "order.placed", ``))
	for _, id := range []string{"x", "-1", ""} {
		s.expect(t, get("/v1/changes", "Accept: text/event-stream", "Last-Event-ID: "+id), rejected(400, "invalid_parameter", "Last-Event-ID must be one integer of at least 0"))
	}
	for _, accept := range []string{"application/json", "*/*", "text/event-stream;q=0", "text/event-stream;q=0.0, application/json", "application/json, text/event-stream;q=0.1", "*/*, text/event-stream;q=0.9"} {
		s.expect(t, get("/v1/changes?limit=1", "Accept: "+accept), ok("").withHeader("Content-Type: application/json"))
	}
	s.expectOnly(t, newRequest(http.MethodHead, "/v1/changes", "Accept: text/event-stream"), ok("").withHeader("Content-Type: text/event-stream"))
}

func TestStreamOutlivesTheDeadlines(t *testing.T) {
	t.Parallel()
	s := startStreams(t, server.Timeouts{Read: time.Second, Write: time.Second, Shutdown: time.Minute}, withRequestTimeout(time.Second))
	changes := s.stream(t, s.client, "/v1/changes")
	for start := time.Now(); time.Since(start) < 1500*time.Millisecond; {
		if part, open := changes.next(); !strings.HasPrefix(part, ":\nid: ") || !open {
			t.Fatalf("got %q and the end %t: %v", part, !open, changes.lines.Err())
		}
	}
	s.createPets(t, domain.NewPet{Name: "Rex"})
	changes.event(t)
}

// TestStreamOutlivesContextsOfTheHost: the context of a middleware is derived from one with the deadline of the request.
func TestStreamOutlivesContextsOfTheHost(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	api := s.api(t, withRequestTimeout(50*time.Millisecond), withAuthenticator(func(c *gin.Context) (string, error) { return "ann", c.Request.Context().Err() }))
	api.SetStreamTimes(10*time.Millisecond, 500*time.Millisecond)
	s.startHost(t, gin.New(), api, func(c *gin.Context) {
		ctx, cancel := context.WithTimeout(c.Request.Context(), 100*time.Millisecond)
		defer cancel()
		c.Request = c.Request.WithContext(ctx)
		c.Next()
	})
	changes := s.stream(t, s.client, "/v1/changes")
	for range 2 { // 150 ms each
		changes.next()
	}
	s.createPets(t, domain.NewPet{Name: "Rex"})
	changes.event(t)
}

func TestStreamIsRefusedDuringAShutdown(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	engine := s.engine(t, nil)
	s.start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close") // as server.Serve
		engine.ServeHTTP(w, r)
	}))
	s.expect(t, get("/v1/changes", "Accept: text/event-stream"), rejected(503, "unavailable"))
}

func TestStreamsOfACallerAreLimited(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	s := startStreams(t, longTimeouts, withMetrics(registry))
	wantMetric := func(metric string, value float64) {
		t.Helper()
		waitUntil(t, fmt.Sprint(metric, " is ", value), func() bool { return gauge(t, registry, metric) == value })
	}
	wantMetric("petstore_changes_streams", 0)
	var open []stream
	for range 10 {
		open = append(open, s.stream(t, s.client, "/v1/changes"))
	}
	s.expectOnly(t, get("/v1/changes", "Accept: text/event-stream"), rejected(429, "rate_limited", "10").withHeader("Retry-After: 1"))
	other := s.stream(t, s.client, "/v1/changes", "Authorization: Bearer "+s.createKey(t))
	if other.StatusCode != http.StatusOK {
		t.Errorf("another key: got status %d", other.StatusCode)
	}
	wantMetric("petstore_changes_streams", 11)
	wantMetric("petstore_changes_lag", 0)
	open[0].close()
	waitUntil(t, "another stream can be opened", func() bool {
		res := s.stream(t, s.client, "/v1/changes")
		return res.StatusCode == http.StatusOK
	})
}

// gauge returns the value of a metric.
func gauge(t *testing.T, registry *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	return -1
}

func TestStreamEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, s *testServer){
		"when its key is revoked": func(t *testing.T, s *testServer) {
			if err := s.keys.Revoke(t.Context(), 1); err != nil {
				t.Error(err)
			}
		},
		"when the store fails":         func(t *testing.T, s *testServer) { s.removeTable(t, "changes") },
		"when no changes are recorded": func(t *testing.T, s *testServer) { s.database.Exec(t, "UPDATE recording SET active = 0") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startStreams(t, longTimeouts)
			changes := s.stream(t, s.client, "/v1/changes")
			end(t, s)
			changes.wantEnd(t)
		})
	}
}

func TestStreamEndsWhenItsCallerIsAnother(t *testing.T) {
	t.Parallel()
	var caller atomic.Pointer[string]
	caller.Store(new("ann"))
	s := startStreams(t, longTimeouts, withAuthenticator(func(*gin.Context) (string, error) { return *caller.Load(), nil }))
	changes := s.stream(t, s.client, "/v1/changes")
	caller.Store(new("bob"))
	changes.wantEnd(t)
}

func TestStreamEndsWhenTheServerShutsDown(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	stop, served := s.serveUntil(t, s.streamEngine(t), longTimeouts)
	changes := s.stream(t, s.client, "/v1/changes")
	stop()
	changes.wantEnd(t)
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestSlowReaderIsDisconnected(t *testing.T) {
	t.Parallel()
	registry, lagged := prometheus.NewRegistry(), false
	s := startStreams(t, longTimeouts, withMetrics(registry))
	changes := s.stream(t, s.client, "/v1/changes")
	news := slices.Repeat([]domain.NewPet{{Name: strings.Repeat("犬", 200)}}, 1000)
	ended := func() bool {
		return s.log.FilterMessage("request").Filter(func(e observer.LoggedEntry) bool { return e.ContextMap()["route"] == "/v1/changes" }).Len() == 1
	}
	waitUntil(t, "the slow reader is disconnected", func() bool { // the kernel buffers some megabytes
		err := s.store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
			_, err := r.Pets.CreateAll(ctx, news)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		lagged = lagged || gauge(t, registry, "petstore_changes_lag") > 0
		return ended()
	})
	if changes.StatusCode != http.StatusOK || !lagged {
		t.Errorf("got status %d, and that the stream lagged: %t", changes.StatusCode, lagged)
	}
	logged := s.log.FilterMessage("a stream of changes ended").All()
	if len(logged) != 1 || !strings.Contains(fmt.Sprint(logged[0].ContextMap()), "i/o timeout") || logged[0].ContextMap()["request_id"] == "" {
		t.Errorf("got the log %v", logged)
	}
}

// TestQuietStreamOfHTTP2StaysOpen: a write deadline ends a stream of HTTP/2 also while nothing is sent.
func TestQuietStreamOfHTTP2StaysOpen(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	withHTTP2 := httptest.NewUnstartedServer(s.streamEngine(t))
	withHTTP2.EnableHTTP2 = true
	withHTTP2.StartTLS()
	t.Cleanup(withHTTP2.Close)
	s.url = withHTTP2.URL
	changes := s.stream(t, withHTTP2.Client(), "/v1/changes")
	defer changes.close()
	if changes.ProtoMajor != 2 {
		t.Fatalf("got %s", changes.Proto)
	}
	for range 8 { // 150 ms each, the timeout is 500 ms
		if part, open := changes.next(); !open {
			t.Fatalf("got %q and the end: %v", part, changes.lines.Err())
		}
	}
	s.createPets(t, domain.NewPet{Name: "Rex"})
	changes.event(t)
}
