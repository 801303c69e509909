package main

import (
	"context"
	"net/url"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
)

// flushTimeout is how long a collector may take for the last spans.
const flushTimeout = 5 * time.Second

// newTraces sends spans to the collector at endpoint, the last of them with flush;
// what it does not take is told to the log. Without an endpoint there is no provider.
func newTraces(ctx context.Context, endpoint string, log *zap.Logger) (provider trace.TracerProvider, flush func(), err error) {
	if endpoint == "" {
		return nil, func() {}, nil
	}
	collector, err := url.Parse(endpoint)
	if err != nil {
		return nil, nil, err
	}
	if collector.Path == "" {
		collector.Path = "/v1/traces"
	}
	// OpenTelemetry's own log tells of a setting that it cannot read, with its value.
	otel.SetLogger(logr.Discard())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces were lost", zap.Error(err)) }))
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(collector.String()))
	if err != nil {
		return nil, nil, err
	}
	spans := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "petstore"))),
	)
	return spans, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		if err := spans.Shutdown(ctx); err != nil {
			otel.Handle(err)
		}
	}, nil
}
