package http

import (
	"context"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/contrib/instrumentation/github.com/gin-gonic/gin/otelgin"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// traceRequests returns a handler that creates the span of a request, or nil without a provider.
func traceRequests(provider trace.TracerProvider) gin.HandlerFunc {
	if provider == nil {
		return nil
	}
	return otelgin.Middleware("",
		otelgin.WithTracerProvider(provider),
		otelgin.WithMeterProvider(noop.NewMeterProvider()),
		otelgin.WithPropagators(propagation.TraceContext{}),
		otelgin.WithSpanStartOptions(trace.WithAttributes(
			attribute.String("url.path", ""), attribute.String("user_agent.original", ""), attribute.String("http.request.method_original", ""),
			attribute.String("server.address", ""), // the header Host
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
