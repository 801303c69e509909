package http

import (
	"context"

	"go.opentelemetry.io/contrib/instrumentation/github.com/gin-gonic/gin/otelgin"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// WithTracerProvider creates a span for every request, in the trace of its header
// traceparent (W3C Trace Context). A span has the route, but neither the path, the query nor
// a header such as Host, which may hold secrets, and no unknown method, which may have any
// length. By default, and with a nil provider, there are no spans.
func WithTracerProvider(provider trace.TracerProvider) Option {
	return func(a *API) {
		if a.trace = nil; provider == nil {
			return
		}
		a.trace = otelgin.Middleware("",
			otelgin.WithTracerProvider(provider),
			otelgin.WithMeterProvider(noop.NewMeterProvider()),
			otelgin.WithPropagators(propagation.TraceContext{}),
			otelgin.WithSpanStartOptions(trace.WithAttributes(
				attribute.String("url.path", ""), attribute.String("user_agent.original", ""), attribute.String("http.request.method_original", ""),
				attribute.String("server.address", ""), // the header Host
			)),
		)
	}
}

// traceID returns the id of the trace in ctx, or "" without one.
func traceID(ctx context.Context) string {
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		return span.TraceID().String()
	}
	return ""
}
