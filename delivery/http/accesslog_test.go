package http_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"example.com/petstore/domain/apikey"
	"example.com/petstore/internal/server"
	"example.com/petstore/repository"
)

func TestAccessLogAndMetricsHaveEachRequest(t *testing.T) {
	t.Parallel()
	s, counts := newTestServer(t), map[string]int{}
	readOnly := "Authorization: Bearer " + newKey(t, s.keys, apikey.ReadOnly)
	for name, tt := range map[string]struct {
		request
		method, route, path string // the path is logged only without a route
		status              int64
		keyID               string
	}{
		"a list":             {request: get("/v1/pets?limit=5"), method: "GET", route: "/v1/pets", status: 200, keyID: "1"},
		"the route of a pet": {request: get("/v1/pets/42"), method: "GET", route: "/v1/pets/:petId", status: 404, keyID: "1"},
		"HEAD":               {request: newRequest("HEAD", "/v1/pets"), method: "HEAD", route: "/v1/pets", status: 200, keyID: "1"},
		"OPTIONS":            {request: newRequest("OPTIONS", "/v1/pets/1"), method: "OPTIONS", route: "/v1/pets/:petId", status: 204},
		"a created pet":      {request: postPet(newRex), method: "POST", route: "/v1/pets", status: 201, keyID: "1"},
		"a read-only key":    {request: postPet(newRex, readOnly), method: "POST", route: "/v1/pets", status: 403, keyID: "2"},
		"no API key":         {request: get("/v1/pets", "-Authorization"), method: "GET", route: "/v1/pets", status: 401},
		"an unknown path":    {request: get("/v1/nothing?token=secret"), method: "GET", path: "/v1/nothing", status: 404},
		"an encoded slash":   {request: get("/v1/pets%2f1?token=secret"), method: "GET", path: "/v1/pets%2f1", status: 404},
		"control characters": {request: get("/a%0Ab%00c%7F%FFd%20e%22"), method: "GET", path: "/a%0Ab%00c%7F%FFd%20e%22", status: 404},
		"an API key": {
			request: get("/v1/keys/petstore_" + strings.Repeat("x", 49) + "/name"),
			method:  "GET",
			path:    "/v1/keys/(hidden)/name",
			status:  404,
		},
		"an encoded API key beside an encoded slash": {
			request: get("/a%2fb%20c/%70etstore%5f" + strings.Repeat("%78", 49)),
			method:  "GET",
			path:    "/a/b%20c/(hidden)",
			status:  404,
		},
		"a mistyped API key": {request: get("/v1/petstore_%20" + strings.Repeat("x", 49)), method: "GET", path: "/v1/(hidden)", status: 404},
		"a long path": {
			request: get("/" + strings.Repeat("x", 10_000)),
			method:  "GET",
			path:    "/" + strings.Repeat("x", 199),
			status:  404,
		},
		"an unsupported method":  {request: newRequest("DELETE", "/v1/pets"), method: "DELETE", path: "/v1/pets", status: 405},
		"an unknown method":      {request: newRequest(strings.Repeat("A", 30_000), "/v1/pets"), method: "other", path: "/v1/pets", status: 405},
		"a method in lower case": {request: newRequest("get", "/v1/pets"), method: "other", path: "/v1/pets", status: 405},
		"no method and no path":  {request: newRequest("BREW", "/tea"), method: "other", path: "/tea", status: 404},
		"a health check":         {request: get("/livez", "-Authorization"), method: "GET", route: "/livez", status: 200},
		"forwarded addresses": {
			request: get("/v1/pets", "X-Forwarded-For: 203.0.113.9", "X-Real-Ip: 203.0.113.9", "Forwarded: for=203.0.113.9"),
			method:  "GET",
			route:   "/v1/pets",
			status:  200,
			keyID:   "1",
		},
	} {
		s.log.TakeAll()
		res := s.expect(t, tt.request, wantResponse{})
		line := map[string]any{
			"request_id": res.Header.Get("X-Request-Id"), "client": "127.0.0.1",
			"method": tt.method, "route": tt.route, "status": tt.status, "key_id": tt.keyID,
		}
		if tt.route == "" {
			line["path"], tt.route = tt.path, "unmatched"
		}
		if tt.status == 201 {
			line["record_id"] = int64(1)
		}
		if tt.status >= 400 { // the line has the message because the level of the log is debug
			e := decodeError(t, res.body)
			line["code"], line["message"] = e.Code, e.Message
		}
		if diff := cmp.Diff([]map[string]any{line}, s.accessLog(t)); diff != "" {
			t.Errorf("%s: access log (-want +got):\n%s", name, diff)
		}
		counts[fmt.Sprint(tt.method, " ", tt.route, " ", tt.status)]++
	}
	if diff := cmp.Diff(counts, s.requestCounts(t)); diff != "" {
		t.Errorf("requests in the metrics (-want +got):\n%s", diff)
	}
}

func TestAccessLogHasTheRecordsThatARequestChanged(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	patch := newRequest("PATCH", "/v1/pets/1")
	patch.body = `{"name":"Max"}`
	batch := newRequest("POST", "/v1/pets/batch", "Idempotency-Key: batch")
	batch.body = "[" + newRex + "," + newRex + "]"
	for _, test := range []struct {
		request
		status int
		want   any // record_id or record_ids
	}{
		{postPet(newRex, "Idempotency-Key: rex"), 201, int64(1)},
		{postPet(newRex, "Idempotency-Key: rex"), 201, nil}, // a replay changes nothing
		{batch, 201, []any{int64(2), int64(3)}},
		{batch, 201, nil},
		{patch, 200, int64(1)},
		{patch, 200, nil},
		{postOrder(`{"petId":3}`, "Idempotency-Key: order"), 201, int64(1)},
		{postOrder(`{"petId":3}`, "Idempotency-Key: order"), 201, nil},
		{newRequest("POST", "/v1/store/orders/1/cancel"), 200, int64(1)},
		{newRequest("POST", "/v1/store/orders/1/cancel"), 200, nil},
		{postOrder(`{"petId":3}`), 201, int64(2)},
		{newRequest("POST", "/v1/store/orders/2/deliver"), 200, int64(2)},
		{newRequest("DELETE", "/v1/pets/3"), 409, nil},
		{newRequest("DELETE", "/v1/pets/2"), 204, int64(2)},
		{newRequest("DELETE", "/v1/pets/2"), 404, nil},
		{get("/v1/pets/1"), 200, nil},
		{get("/v1/store/orders/1"), 200, nil},
		{get("/v1/pets"), 200, nil},
	} {
		s.log.TakeAll()
		s.expect(t, test.request, wantResponse{status: test.status})
		line, name := s.accessLog(t)[0], "record_id"
		if _, several := test.want.([]any); several {
			name = "record_ids"
		}
		want := map[string]any{"record_id": nil, "record_ids": nil}
		want[name] = test.want
		if diff := cmp.Diff(want, map[string]any{"record_id": line["record_id"], "record_ids": line["record_ids"]}); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", test.method, test.path, diff)
		}
	}
}

func TestRepeatedSuccessOfAHealthCheckIsLoggedAtDebug(t *testing.T) {
	t.Parallel()
	var failure error
	s := newUnstartedServer(t)
	s.health = server.NewHealth(func(context.Context) error { return failure })
	s.start(t, s.engine(t))
	for i, want := range []struct {
		path   string
		status int
		level  zapcore.Level
	}{
		{"/readyz", 200, zap.InfoLevel},
		{"/readyz", 200, zap.DebugLevel},
		{"/livez", 200, zap.InfoLevel},
		{"/livez", 200, zap.DebugLevel},
		{"/readyz", 503, zap.InfoLevel},
		{"/readyz", 503, zap.InfoLevel},
		{"/livez", 200, zap.DebugLevel},
		{"/readyz", 200, zap.InfoLevel},
		{"/readyz", 200, zap.DebugLevel},
	} {
		if failure = nil; want.status == 503 {
			failure = errors.New("connection refused")
		}
		s.log.TakeAll()
		s.expect(t, get(want.path, "-Authorization"), wantResponse{status: want.status})
		if lines := s.log.FilterMessage("request").All(); len(lines) != 1 || lines[0].Level != want.level {
			t.Errorf("check %d: got %v, want one line at the level %s", i, lines, want.level)
		}
	}
}

// A proxy such as Azure Application Gateway adds the port of the client to X-Forwarded-For.
func TestClientOfATrustedProxyIsLogged(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	engine, err := server.NewEngine(s.api(t), s.health, []string{"127.0.0.1"})
	check(t, err)
	var after []string // the value of the header after the request
	s.start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { after = r.Header["X-Forwarded-For"] }()
		engine.ServeHTTP(w, r)
	}))
	for forwarded, want := range map[string]string{
		"203.0.113.5": "203.0.113.5", "2001:0db8::17": "2001:0db8::17", "::ffff:203.0.113.5": "::ffff:203.0.113.5",
		"203.0.113.5:17085": "203.0.113.5", "[2001:db8::1]:443": "2001:db8::1", "[2001:db8::1]": "2001:db8::1",
		"192.0.2.1:80, 203.0.113.5:17085,127.0.0.1:9": "203.0.113.5", "203.0.113.5:x": "127.0.0.1", "shop.example.com:80": "127.0.0.1",
	} {
		s.log.TakeAll()
		s.expect(t, get("/v1/pets", "X-Forwarded-For: "+forwarded), ok(""))
		if got := s.accessLog(t)[0]["client"]; got != want {
			t.Errorf("%s: got the client %v, want %s", forwarded, got, want)
		}
		if !slices.Equal(after, []string{forwarded}) {
			t.Errorf("%s: the header of the host is %q", forwarded, after)
		}
	}
}

// accessLog returns the fields of each line of the access log, without the duration.
func (s *testServer) accessLog(t *testing.T) (lines []map[string]any) {
	t.Helper()
	for _, entry := range s.log.FilterMessage("request").All() {
		line := entry.ContextMap()
		if duration, ok := line["duration"].(time.Duration); !ok || duration <= 0 || entry.Level != zap.InfoLevel {
			t.Errorf("got line %v at level %s, want a duration and the level info", line, entry.Level)
		}
		delete(line, "duration")
		lines = append(lines, line)
	}
	return lines
}

func TestLogTracesAndMetricsContainNoSecrets(t *testing.T) {
	t.Parallel()
	s, exporter := newTracedServer(t, withCall(func(context.Context) error { panic("panic value") }))
	requests := []request{
		get("/v1/pets?token=hush&key=KEY"), get("/v1/pets?KEY=1"), get("/v1/pets?status=hush"), get("/v1/pets?%zz=hush"),
		get("/v1/pets/1?token=hush"), get("/v1/pets/KEY"), get("/v1/nothing?token=hush"), get("/v1/KEY"), get("/v1/KEYKEY"),
		get("/v1/petstore%5FHIDDEN"), get("/v1/petstore%5fHIDDEN"), get("/v1/%70etstore_HIDDEN"), get("/v1/ENCODED"),
		get("/v1/PETSTORE_HIDDEN"), get("/v1/PetStore%5FHIDDEN"), get("/v1/pets%2f%70%65%74%73%74%6F%72%65%5FHIDDEN"),
		get("/" + strings.Repeat("x", 150) + "/KEY"), get("/livez?x=hush"), get("/readyz?x=hush"),
		newRequest("DELETE", "/v1/pets?x=hush"), newRequest("POST", "/v1/store/orders/KEY/deliver"),
		postPet(`{"name":"hush","categoryId":7}`), postPet(`{"name":"hush"`), postPet(`{"hush":"hush"}`),
		get("/v1/pets", "Authorization: Bearer hush"), get("/v1/pets", "Authorization: KEY"), get("/v1/pets", "Authorization: Basic hush"),
		get("/v1/pets?x=hush", "Authorization: Bearer KEY", "Authorization: Bearer KEY"),
	}
	for _, table := range []string{"pets", "api_keys", "orders"} {
		for _, r := range requests {
			r.header = append(r.header, "Host: KEY", "User-Agent: KEY", "Referer: hush", "Cookie: hush", "Idempotency-Key: hush", "X-Secret: hush")
			r.path = strings.NewReplacer("KEY", s.key, "HIDDEN", s.key[9:], "ENCODED", percentEncoded(s.key)).Replace(r.path)
			s.expectOnly(t, r, wantResponse{})
		}
		s.removeTable(t, table)
	}

	var texts []string
	for series := range s.scrape(t) {
		texts = append(texts, strings.TrimPrefix(series, "petstore_"))
	}
	for _, entry := range s.log.All() {
		texts = append(texts, fmt.Sprint(entry.Message, entry.ContextMap()))
	}
	for _, span := range exporter.GetSpans() {
		texts = append(texts, fmt.Sprint(span.Name, span.Attributes, span.Events, span.Status, span.Links, span.Resource))
	}
	if len(texts) < 6*len(requests) {
		t.Fatalf("got %d texts for %d requests", len(texts), 3*len(requests))
	}
	for _, text := range texts {
		for _, secret := range []string{"hush", s.key, s.key[9:40], "petstore_", percentEncoded(s.key[9:12])} {
			if strings.Contains(text, secret) {
				t.Errorf("got a text that contains %q: %s", secret, text)
			}
		}
	}
}

func percentEncoded(text string) string {
	return "%" + strings.ReplaceAll(fmt.Sprintf("% x", text), " ", "%")
}

const (
	parentTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	parentSpan  = "00f067aa0ba902b7"
	traceparent = "Traceparent: 00-" + parentTrace + "-" + parentSpan + "-01"
)

// newTracedServer returns a server whose requests and SQL statements are traced.
func newTracedServer(t *testing.T, options ...option) (*testServer, *tracetest.InMemoryExporter) {
	t.Helper()
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	s := newUnstartedServer(t, repository.Options{TracerProvider: provider})
	s.start(t, s.engine(t, append(options, func(o *apiOptions) { o.TracerProvider = provider })...))
	exporter.Reset()
	return s, exporter
}

func TestRequestHasSpanInTraceOfCaller(t *testing.T) {
	t.Parallel()
	s, exporter := newTracedServer(t)
	s.expect(t, postPet(newRex, traceparent), created(""))
	// No other request shares this query. A query that requests share, as for a key, has no span.
	s.expect(t, get("/v1/store/orders?petId=1", traceparent), ok(""))
	names := map[string]string{parentSpan: "the caller"}
	for _, span := range exporter.GetSpans() {
		names[span.SpanContext.SpanID().String()] = span.Name
		if id := span.SpanContext.TraceID().String(); id != parentTrace {
			t.Errorf("%s: got trace %s, want %s", span.Name, id, parentTrace)
		}
	}
	children := map[string]int{}
	for _, span := range exporter.GetSpans() {
		children[names[span.Parent.SpanID().String()]]++
	}
	if children["the caller"] != 2 || children["GET /v1/store/orders"] == 0 {
		t.Errorf("got the numbers of child spans %v, want 2 requests, and statements of the second", children)
	}
	for _, line := range s.accessLog(t) {
		if line["trace_id"] != parentTrace {
			t.Errorf("got line %v, want trace_id %s", line, parentTrace)
		}
	}
	for method, name := range map[string]string{strings.Repeat("X", 10_000): "HTTP", "DELETE": "DELETE"} {
		exporter.Reset()
		s.log.TakeAll()
		s.expect(t, newRequest(method, "/nowhere", "Traceparent: invalid"), rejected(404, "not_found"))
		spans := exporter.GetSpans()
		if len(spans) != 1 || spans[0].Name != name || method != name && strings.Contains(fmt.Sprint(spans[0].Attributes), method) {
			t.Fatalf("got %d spans, %.1000v, want one with the name %s and without another", len(spans), spans, name)
		}
		if line := s.accessLog(t)[0]; line["trace_id"] != spans[0].SpanContext.TraceID().String() {
			t.Errorf("got line %v, want the trace_id of the span", line)
		}
	}
}

// A host that extracts traceparent, as otelgin does, and begins a span wants the span of the API within it.
func TestSpanOfTheHostIsTheParent(t *testing.T) {
	t.Parallel()
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	s, engine := newUnstartedServer(t), gin.New()
	engine.Use(func(c *gin.Context) {
		ctx, span := provider.Tracer("host").Start(c.Request.Context(), "the host")
		defer span.End()
		c.Request = c.Request.WithContext(ctx)
		c.Next()
	})
	s.startHost(t, engine, s.api(t, func(o *apiOptions) { o.TracerProvider = provider }))
	s.expect(t, get("/v1/pets", traceparent), ok(`[]`))
	spans := exporter.GetSpans() // in the order of their ends
	if len(spans) != 2 || spans[1].Name != "the host" || spans[0].Parent.SpanID() != spans[1].SpanContext.SpanID() {
		t.Fatalf("got the spans %+v, want that of the API within that of the host", spans)
	}
	if line := s.accessLog(t)[0]; line["trace_id"] != spans[0].SpanContext.TraceID().String() {
		t.Errorf("got line %v, want the trace of the host", line)
	}
}

// FuzzAccessLog sends requests with any method, path, request id and address of the client. Each request
// has one line of JSON in the access log, and the line contains neither the API key nor the query.
func FuzzAccessLog(f *testing.F) {
	s := newFuzzServer(f)
	var log bytes.Buffer
	encoder := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
	logger := zap.New(zapcore.NewCore(encoder, zapcore.AddSync(&log), zapcore.InfoLevel))
	api := s.api(f, func(o *apiOptions) { o.Logger = logger })
	engine, err := server.NewEngine(api, s.health, []string{"127.0.0.1"})
	check(f, err)
	s.handler = engine
	for _, seed := range [][4]string{
		{"GET", "/v1/pets", "id", "192.0.2.1"},
		{"GET", "/v1/nothing", "", ""},
		{"DELETE", "/a\n\x00\xff\" b", "a\"\n", "x, y"},
		{"PURGE", "/petstore_" + strings.Repeat("x", 49), "petstore_x", "::1"},
		{"GET", "/" + strings.Repeat("é", 300), strings.Repeat("i", 300), "\u2028"},
		{"G\nT", "//", "\x1b[0m", "127.0.0.1, 192.0.2.1"},
		{"", "", "\xff", "\x00"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, method, path, requestID, forwarded string) {
		log.Reset()
		s.handler.ServeHTTP(httptest.NewRecorder(), &http.Request{
			Method: method, URL: &url.URL{Path: path, RawQuery: "token=querysecret"}, Body: http.NoBody, RemoteAddr: "127.0.0.1:1",
			Header: http.Header{"Authorization": {"Bearer " + s.key}, "X-Request-Id": {requestID}, "X-Forwarded-For": {forwarded}},
		})
		var fields map[string]any
		if err := json.Unmarshal(log.Bytes(), &fields); err != nil || bytes.Count(log.Bytes(), []byte("\n")) != 1 {
			t.Fatalf("got the log %q, %v, want one line of JSON", log.Bytes(), err)
		}
		if fields["message"] != nil {
			t.Fatalf("got the message %s, which is for the level debug", fields["message"])
		}
		text := log.String()
		if !utf8.ValidString(text) || strings.Contains(text, s.key) || strings.Contains(text, "querysecret") || log.Len() > 4096 {
			t.Fatalf("got the log %q, want less than 4 KiB of UTF-8 without secrets", text)
		}
		if forwarded == "192.0.2.1" && fields["client"] != forwarded {
			t.Fatalf("got the client %s, want that behind the trusted proxy", fields["client"])
		}
	})
}

// wantAccessLog waits for the only line of the access log. It must have this status.
func (s *testServer) wantAccessLog(t *testing.T, status int64) {
	t.Helper()
	waitUntil(t, "the access log has one line", func() bool { return len(s.accessLog(t)) == 1 })
	if line := s.accessLog(t)[0]; line["status"] != status {
		t.Errorf("got the access log %v, want the status %d", line, status)
	}
}
