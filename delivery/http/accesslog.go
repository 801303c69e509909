package http

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/contrib/instrumentation/github.com/gin-gonic/gin/otelgin"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
)

// An accessLogEntry has the fields of one line of the access log. It has no query and no header, which may contain
// secrets. It is logged as one inlined field, which costs less than a field for each value.
type accessLogEntry struct {
	requestID, method, route string
	path                     string // logged if route is empty
	status                   int
	records                  []int64       // the ids that the request created, changed or removed
	failure                  *domain.Error // the error response, or nil
	debug                    bool          // whether the message of failure is logged
	duration                 time.Duration
	callerField, caller      string
	client, traceID          string
}

// MarshalLogObject implements zapcore.ObjectMarshaler.
func (e *accessLogEntry) MarshalLogObject(encoder zapcore.ObjectEncoder) error {
	encoder.AddString("request_id", e.requestID)
	encoder.AddString("method", e.method)
	encoder.AddString("route", e.route)
	if e.route == "" {
		encoder.AddString("path", e.path)
	}
	encoder.AddInt64("status", int64(e.status))
	switch len(e.records) {
	case 0:
	case 1:
		encoder.AddInt64("record_id", e.records[0])
	default:
		zap.Int64s("record_ids", e.records).AddTo(encoder)
	}
	if e.failure != nil {
		encoder.AddString("code", string(e.failure.Code))
		if state, ok := errors.AsType[apikey.State](e.failure.Cause); ok {
			encoder.AddString("key_state", string(state))
		}
		if e.debug {
			encoder.AddString("message", hideKeys(e.failure.Message))
		}
	}
	encoder.AddDuration("duration", e.duration)
	encoder.AddString(e.callerField, e.caller)
	encoder.AddString("client", e.client)
	if e.traceID != "" {
		encoder.AddString("trace_id", e.traceID)
	}
	return nil
}

// logRecord adds the id of a record to the line of a request in the access log, if the request created, changed or removed
// the record.
func logRecord(c *gin.Context, changed bool, id int64) {
	if changed {
		s := stateOf(c)
		s.records = append(s.records, id)
	}
}

// loggedPath returns the escaped path of a URL, at most 200 bytes, with "(hidden)" for API keys. An escaped path is
// printable ASCII without spaces (RFC 3986, section 3.3).
func loggedPath(u *url.URL) string {
	path := u.EscapedPath()
	canonical := (&url.URL{Path: u.Path}).EscapedPath() // leaves all characters of a key as they are, so that the pattern finds it
	if apiKeyPattern.MatchString(canonical) {
		path = hideKeys(canonical)
	}
	return path[:min(len(path), 200)]
}

// apiKeyPattern matches API keys, including truncated and mistyped keys and several keys in a row.
var apiKeyPattern = regexp.MustCompile(`(?i)petstore_[0-9a-z%_]+`)

// hideKeys replaces API keys in a text by "(hidden)".
func hideKeys(text string) string { return apiKeyPattern.ReplaceAllLiteralString(text, "(hidden)") }

// forwardedPort matches an address in X-Forwarded-For that has a port or brackets.
var forwardedPort = regexp.MustCompile(`((?:[0-9]+\.){3}[0-9]+):[0-9]+|\[([0-9A-Fa-f:.]+)\](?::[0-9]+)?`)

// clientIP returns c.ClientIP(), or "" if it is not known, as on a Unix socket without X-Forwarded-For. First it
// removes the ports that some proxies add to the addresses in X-Forwarded-For. On a Unix socket, Gin trusts every
// address in that header.
func clientIP(c *gin.Context) string {
	request := c.Request
	if forwarded := request.Header["X-Forwarded-For"]; len(forwarded) > 0 {
		defer func() { c.Request = request }()
		c.Request = request.WithContext(request.Context()) // a copy, because the host owns the header
		c.Request.Header = maps.Clone(request.Header)
		c.Request.Header["X-Forwarded-For"] = []string{forwardedPort.ReplaceAllString(strings.Join(forwarded, ","), "$1$2")}
	}
	if ip := c.ClientIP(); ip != net.IP(nil).String() {
		return ip
	}
	return ""
}

// A parentOrHeader reads the parent of a span from the header traceparent, unless the context has a valid span already:
// the host has begun one for the request.
type parentOrHeader struct{ propagation.TraceContext }

// Extract implements propagation.TextMapPropagator.
func (p parentOrHeader) Extract(ctx context.Context, header propagation.TextMapCarrier) context.Context {
	if trace.SpanContextFromContext(ctx).IsValid() {
		return ctx
	}
	return p.TraceContext.Extract(ctx, header)
}

// traceRequests returns a middleware that creates a span for each request. Without a provider it returns nil.
func traceRequests(provider trace.TracerProvider) gin.HandlerFunc {
	if provider == nil {
		return nil
	}
	return otelgin.Middleware("",
		otelgin.WithTracerProvider(provider),
		otelgin.WithMeterProvider(noop.NewMeterProvider()),
		otelgin.WithPropagators(parentOrHeader{}),
		// The empty values replace those of otelgin, which may contain secrets or have any length.
		otelgin.WithSpanStartOptions(trace.WithAttributes(
			attribute.String("url.path", ""), attribute.String("user_agent.original", ""), attribute.String("http.request.method_original", ""),
			attribute.String("server.address", ""), // otelgin would use the header Host
		)),
	)
}

// traceID returns the id of the trace in ctx, or "" without one.
func traceID(ctx context.Context) string {
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		return span.TraceID().String()
	}
	return ""
}
