package http_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/time/rate"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
	"example.com/petstore/internal/server"
	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

// acceptEvents is the header of a request for a stream.
const acceptEvents = "Accept: text/event-stream"

// A stream is the response to a request for a stream of changes.
type stream struct {
	*http.Response
	lines *bufio.Scanner
	close context.CancelFunc
}

// stream requests a stream. The stream ends with the test at the latest.
func (s *testServer) stream(t *testing.T, r request) stream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	res, err := s.do(ctx, r)
	check(t, err)
	t.Cleanup(func() { _ = res.Body.Close() })
	return stream{res, bufio.NewScanner(res.Body), cancel}
}

// next returns the lines up to the next empty line. At the end of the stream, it returns false.
func (s stream) next() (part string, ok bool) {
	for s.lines.Scan() {
		if s.lines.Text() == "" {
			return part, true
		}
		part += s.lines.Text() + "\n"
	}
	return part, false
}

// wantEvent expects an event with this text, after any comments. For "", it expects the end of the stream.
func (s stream) wantEvent(t *testing.T, want string) {
	t.Helper()
	got, open := s.next()
	for open && strings.HasPrefix(got, ":\nid: ") {
		got, open = s.next()
	}
	got = changeTime.ReplaceAllString(got, `"at":"TIME"`)
	if open != (want != "") || !strings.Contains(got, want) || s.lines.Err() != nil {
		t.Fatalf("got the event %q, an open stream %t and the error %v, want %q", got, open, s.lines.Err(), want)
	}
}

func TestStreamSendsChanges(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	begin := positionOf(t, s.expect(t, get("/v1/pets"), ok(`[]`)))
	s.createPets(t, newPets(250, domain.PetAvailable)...)
	changes := s.stream(t, get("/v1/changes", acceptEvents))
	header := changes.Header
	if got := header.Get("Content-Type"); changes.StatusCode != 200 || got != "text/event-stream" || header.Get("Cache-Control") != "no-store" {
		t.Errorf("got status %d and the header %v", changes.StatusCode, changes.Header)
	}
	for i := range int64(250) {
		changes.wantEvent(t, eventOf(begin+1+i, "pet.added", fmt.Sprintf(`"pet":{"id":%d,"name":"Rex","categoryId":7,"status":"available"}`, i+1)))
	}
	if part, _ := changes.next(); part != fmt.Sprintf(":\nid: %d\n", begin+250) {
		t.Errorf("got %q, want a comment after a time without events", part)
	}
	s.expect(t, postOrder(`{"petId":1}`), created(""))
	changes.wantEvent(t, eventOf(begin+251, "pet.updated", `"pet":{"id":1,"name":"Rex","categoryId":7,"status":"pending"},`+
		`"before":{"id":1,"name":"Rex","categoryId":7,"status":"available"}`))
	placed := eventOf(begin+252, "order.placed",
		`"order":{"id":1,"petId":1,"status":"placed","createdAt":"2026-11-20T12:00:00.000Z","updatedAt":"2026-11-20T12:00:00.000Z"}`)
	changes.wantEvent(t, placed)
	s.stream(t, get("/v1/changes?after=1", acceptEvents, fmt.Sprint("Last-Event-ID: ", begin+251))).wantEvent(t, placed)
	for _, id := range []string{"x", "-1", "-0", ""} {
		invalid := rejected(400, "invalid_parameter", "Last-Event-ID must be one integer of at least 0")
		s.expect(t, get("/v1/changes", acceptEvents, "Last-Event-ID: "+id), invalid)
	}
	s.expect(t, get("/v1/changes?limit=1", "Accept: */*"), ok("").withHeader("Content-Type: application/json"))
	s.expectOnly(t, newRequest(http.MethodHead, "/v1/changes", acceptEvents), ok("").withHeader("Content-Type: text/event-stream"))
}

// countedChanges counts the pages that are read.
type countedChanges struct {
	rest.Changes
	reads *atomic.Int64
}

func (c countedChanges) List(ctx context.Context, page domain.PageRequest) (domain.ChangePage, error) {
	c.reads.Add(1)
	return c.Changes.List(ctx, page)
}

func TestStreamReadsOnlyAfterAChange(t *testing.T) {
	t.Parallel()
	var reads atomic.Int64
	s := newTestServer(t, func(o *apiOptions) { o.Changes = countedChanges{o.Changes, &reads} })
	changes := s.stream(t, get("/v1/changes", acceptEvents))
	comments := func(n int) {
		for range n {
			if part, open := changes.next(); !open || !strings.HasPrefix(part, ":\nid: ") {
				t.Fatalf("got %q, want a comment", part)
			}
		}
	}
	comments(5) // at the begin, and after times without events
	before := reads.Load()
	s.createPets(t, domain.NewPet{Name: "Rex"})
	changes.wantEvent(t, "event: pet.added")
	// A stream reads at its begin, again when it has sent a page, and when the position was first polled, which may take long.
	if after := reads.Load(); before > 3 || after == before || after > 5 {
		t.Errorf("got %d reads, and %d after a change, want at most 3, then 1 or 2", before, after-before)
	}
}

func TestAcceptSelectsEvents(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]bool{
		"text/event-stream": true, "application/json;q=0.5, text/event-stream; q=0.7, */*;q=0.1": true,
		"": false, "application/json": false, "*/*": false,
		"text/event-stream;q=0": false, "text/event-stream;q=0.0, application/json": false, "application/json, text/event-stream;q=0.1": false,
		"*/*, text/event-stream;q=0.9": false,
	} {
		if got := rest.PrefersEvents([]string{accept}); got != want {
			t.Errorf("%s: got %t, want %t", accept, got, want)
		}
	}
}

// A write deadline ends an HTTP/2 stream also while nothing is sent.
func TestStreamOutlivesDeadlines(t *testing.T) {
	t.Parallel()
	const deadline = 2 * time.Second
	for name, start := range map[string]func(t *testing.T, s *testServer){
		"of the server": func(t *testing.T, s *testServer) {
			s.serve(t, s.engine(t, withRequestTimeout(deadline)), server.Timeouts{Read: deadline, Write: deadline, Shutdown: time.Minute})
		},
		"of HTTP/2": func(t *testing.T, s *testServer) {
			engine, api := gin.New(), s.api(t)
			api.SetStreamTimes(100*time.Millisecond, deadline) // nothing is sent for 3 s
			check(t, api.Mount(engine.Group("/v1")))
			withHTTP2 := httptest.NewUnstartedServer(engine)
			withHTTP2.EnableHTTP2 = true
			withHTTP2.StartTLS()
			t.Cleanup(withHTTP2.Close)
			s.url, s.client = withHTTP2.URL, withHTTP2.Client()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newUnstartedServer(t)
			start(t, s)
			changes := s.stream(t, get("/v1/changes", acceptEvents))
			defer changes.close()
			if (changes.ProtoMajor == 2) != (name == "of HTTP/2") {
				t.Errorf("got %s", changes.Proto)
			}
			for start := time.Now(); time.Since(start) < deadline+500*time.Millisecond; {
				if part, open := changes.next(); !strings.HasPrefix(part, ":\nid: ") || !open {
					t.Fatalf("got %q and the end %t: %v", part, !open, changes.lines.Err())
				}
			}
			s.createPets(t, domain.NewPet{Name: "Rex"})
			changes.wantEvent(t, "event: pet.added")
		})
	}
}

// Connection: close in a response does not mean that the server shuts down. A host may set the header, and this API
// sets it after a large body.
func TestStreamContinuesOnAConnectionThatWillBeClosed(t *testing.T) {
	t.Parallel()
	closeConnection := func(c *gin.Context) { c.Header("Connection", "close") }
	for name, start := range map[string]func(s *testServer) request{
		"by the host": func(s *testServer) request {
			s.startHost(t, gin.New(), s.api(t), closeConnection)
			return get("/v1/changes", acceptEvents)
		},
		"because of a large body": func(s *testServer) request {
			s.start(t, s.engine(t))
			return request{method: http.MethodGet, path: "/v1/changes", header: []string{acceptEvents}, body: strings.Repeat("x", 64<<10+1)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newUnstartedServer(t)
			changes := s.stream(t, start(s))
			s.createPets(t, domain.NewPet{Name: "Rex"})
			changes.wantEvent(t, "event: pet.added")
			changes.close()
			s.wantAccessLog(t, http.StatusOK)
		})
	}
}

func TestStreamRequestedDuringAShutdownEndsAtOnce(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	s.createPets(t, domain.NewPet{Name: "Rex"})
	engine, arrived, shutDown := s.engine(t), make(chan struct{}), make(chan struct{})
	host := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-shutDown
		w.Header().Set("Connection", "close") // server.Serve sets this header, too
		engine.ServeHTTP(w, r)
	}))
	rest.EndStreams(host.Config)
	host.Config.RegisterOnShutdown(func() { close(shutDown) })
	host.Start()
	t.Cleanup(host.Close)
	s.url, s.client = host.URL, host.Client()
	stopped := make(chan error, 1)
	go func() { <-arrived; stopped <- host.Config.Shutdown(context.Background()) }()
	changes := s.stream(t, get("/v1/changes", acceptEvents))
	changes.wantEvent(t, "event: pet.added")
	changes.wantEvent(t, "")
	check(t, <-stopped)
	if failed := s.log.FilterLevelExact(zap.ErrorLevel).All(); changes.StatusCode != http.StatusOK || len(failed) > 0 {
		t.Errorf("got status %d and the log %v, want 200 and no error", changes.StatusCode, failed)
	}
}

// A stream has a backlog if it is more than 1000 changes behind after a page. The backlog of one caller must
// not delay other callers.
func TestBacklogOfACallerIsPaced(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	api := s.api(t)
	api.SetStreamPages(rate.Every(time.Hour))
	s.startHost(t, gin.New(), api)
	begin := positionOf(t, s.expect(t, get("/v1/pets"), ok(`[]`)))
	s.createPets(t, newPets(1600, "")...)
	key := newKey(t, s.keys, "")
	for _, header := range []string{"Authorization: Bearer KEY", "Authorization: Bearer " + key} {
		// Each of these streams sends its first page at once, and its second page when the limit allows it. The
		// limit allows one page per hour, so only the first stream sends a second page.
		for range 3 {
			s.stream(t, get("/v1/changes", acceptEvents, header)).wantEvent(t, fmt.Sprintf("id: %d\n", begin+1))
		}
		// After its first page of 100 changes, this stream is 1000 changes behind. So the limit does not apply.
		nearlyThere := s.stream(t, get(fmt.Sprint("/v1/changes?after=", begin+500), acceptEvents, header))
		for i := range int64(1100) {
			nearlyThere.wantEvent(t, fmt.Sprintf("id: %d\n", begin+501+i))
		}
	}
	s.expect(t, postPet(`{"name":"Rex","categoryId":1}`), created(""))
	waitUntil(t, "the lag is 1501: the slowest streams have got a page", func() bool { return s.scrape(t)["petstore_changes_lag"] == "1501" })
}

func TestStreamsOfACallerAreLimited(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	wantMetric := func(metric, value string) {
		t.Helper()
		waitUntil(t, metric+" is "+value, func() bool { return s.scrape(t)[metric] == value })
	}
	wantMetric("petstore_changes_streams", "0")
	var open []stream
	for range 10 {
		open = append(open, s.stream(t, get("/v1/changes", acceptEvents)))
	}
	s.expect(t, get("/v1/changes", acceptEvents), rejected(429, "rate_limited", "10").withHeader("Retry-After: 1"))
	other := s.stream(t, get("/v1/changes", acceptEvents, "Authorization: Bearer "+newKey(t, s.keys, "")))
	if other.StatusCode != http.StatusOK {
		t.Errorf("another key: got status %d", other.StatusCode)
	}
	wantMetric("petstore_changes_streams", "11")
	wantMetric("petstore_changes_lag", "0")
	open[0].close()
	waitUntil(t, "another stream can be opened", func() bool { return s.stream(t, get("/v1/changes", acceptEvents)).StatusCode == http.StatusOK })
}

func TestStreamEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, s *testServer, stop context.CancelFunc){
		"when its key is revoked": func(t *testing.T, s *testServer, _ context.CancelFunc) {
			check(t, s.keys.Revoke(t.Context(), 1))
		},
		"when the store fails": func(t *testing.T, s *testServer, _ context.CancelFunc) {
			s.removeTable(t, "changes")
			s.database.Exec(t, "UPDATE store SET position = position + 1") // a stream reads when there are changes
		},
		"when the server shuts down": func(_ *testing.T, _ *testServer, stop context.CancelFunc) { stop() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newUnstartedServer(t)
			stop, _ := s.serve(t, s.engine(t), longTimeouts)
			changes := s.stream(t, get("/v1/changes", acceptEvents))
			end(t, s, stop)
			changes.wantEvent(t, "")
		})
	}
}

// The state of the keys may be older than the revocation, and a stream checks its key only at intervals.
// The sum of both delays must be less than a second.
func TestStreamEndsWithinASecondOfARevocationInAnotherProcess(t *testing.T) {
	t.Parallel()
	if sum := rest.StreamCheckInterval + repository.MaxKeyAge; sum >= time.Second {
		t.Errorf("a stream may end %s after the revocation, want less than 1 s", sum)
	}
	s := newTestServer(t)
	other, err := repository.Open(t.Context(), s.database.Engine(), repository.Options{})
	check(t, err)
	defer func() { check(t, other.Close()) }()
	changes := s.stream(t, get("/v1/changes", acceptEvents))
	check(t, usecase.NewKeys(other, other.Keys(), s.clock.now).Revoke(t.Context(), 1))
	changes.wantEvent(t, "")
}

func TestStreamEndsWhenItsCallerIsAnother(t *testing.T) {
	t.Parallel()
	var caller atomic.Value
	caller.Store("ann")
	s := newTestServer(t, withAuthenticator(func(*gin.Context) (string, error) { return caller.Load().(string), nil }))
	changes := s.stream(t, get("/v1/changes", acceptEvents))
	caller.Store("bob")
	changes.wantEvent(t, "")
}

// patientChanges are Changes that are read without a timeout.
type patientChanges struct{ rest.Changes }

func (p patientChanges) List(ctx context.Context, page domain.PageRequest) (domain.ChangePage, error) {
	return p.Changes.List(context.WithoutCancel(ctx), page)
}

func TestSlowReaderIsDisconnected(t *testing.T) {
	t.Parallel()
	s, lagged := newUnstartedServer(t), false
	api := s.api(t, func(o *apiOptions) { o.Changes = patientChanges{o.Changes} })
	api.SetStreamTimes(time.Minute, 500*time.Millisecond) // writes have the timeout of 500 ms; patientChanges has none
	s.startHost(t, gin.New(), api)
	changes := s.stream(t, get("/v1/changes", acceptEvents))
	news := slices.Repeat([]domain.NewPet{{Name: strings.Repeat("犬", 200)}}, 1000)
	ended := func(e observer.LoggedEntry) bool {
		return e.Message == "request" && e.ContextMap()["route"] == "/v1/changes"
	}
	waitUntil(t, "the slow reader is disconnected", func() bool { // the kernel buffers some megabytes
		s.createPets(t, news...)
		lagged = lagged || s.scrape(t)["petstore_changes_lag"] != "0"
		return s.log.Filter(ended).Len() == 1
	})
	if changes.StatusCode != http.StatusOK || !lagged {
		t.Errorf("got status %d, and that the stream lagged: %t", changes.StatusCode, lagged)
	}
	logged := s.log.FilterMessage("a stream of changes ended").All()
	fields := regexp.MustCompile(`error:.*i/o timeout.* request_id:[\w-]{20}`)
	if len(logged) != 1 || !fields.MatchString(fmt.Sprint(logged[0].ContextMap())) {
		t.Errorf("got the log %v", logged)
	}
}
