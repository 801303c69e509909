package http

import (
	"context"

	"go.opentelemetry.io/contrib/instrumentation/github.com/gin-gonic/gin/otelgin"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// WithTracerProvider makes a span of every request, part of the trace that its
// header traceparent names (W3C Trace Context). Spans tell the route, never the
// query, a header or the path, where secrets may stand. By default, and with a nil
// provider, none are made.
func WithTracerProvider(provider trace.TracerProvider) Option {
	return func(a *API) {
		if a.trace = nil; provider == nil {
			return
		}
		a.trace = otelgin.Middleware("",
			otelgin.WithTracerProvider(provider),
			otelgin.WithMeterProvider(noop.NewMeterProvider()),
			otelgin.WithPropagators(propagation.TraceContext{}),
			otelgin.WithSpanStartOptions(trace.WithAttributes(attribute.String("url.path", ""), attribute.String("user_agent.original", ""))),
		)
	}
}

// traceID is the trace of a request, empty where there is none.
func traceID(ctx context.Context) string {
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		return span.TraceID().String()
	}
	return ""
}
