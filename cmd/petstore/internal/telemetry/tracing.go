package telemetry

import (
	"context"
	"net/url"
	"os"
	"strings"
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

// traceFlushTimeout is the maximum time that flush waits for the collector.
const traceFlushTimeout = 5 * time.Second

// NewTracerProvider returns a provider that exports spans to the OTLP collector at endpoint. An endpoint without a path
// gets the path /v1/traces. flush exports the last spans. If endpoint is empty or OTEL_SDK_DISABLED is true, the provider
// is nil. Errors of the export are logged.
//
// The spans are of the service petstore, unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES says otherwise
// (opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables).
func NewTracerProvider(ctx context.Context, endpoint string, log *zap.Logger) (provider trace.TracerProvider, flush func(), err error) {
	if endpoint == "" || strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return nil, func() {}, nil
	}
	collector, err := url.Parse(endpoint)
	if err != nil {
		return nil, nil, err
	}
	if collector.Path == "" {
		collector.Path = "/v1/traces"
	}
	// OpenTelemetry would log the values of invalid OTEL_* variables, which may be secrets.
	otel.SetLogger(logr.Discard())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(collector.String()))
	if err != nil {
		return nil, nil, err
	}
	attributes, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "petstore")), resource.WithFromEnv())
	if err != nil {
		log.Warn("a part of OTEL_RESOURCE_ATTRIBUTES is ignored: write it as NAME=VALUE,NAME=VALUE")
	}
	sdkProvider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(attributes),
	)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("cannot export traces", zap.Error(err)) }))
	return sdkProvider, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), traceFlushTimeout)
		defer cancel()
		if err := sdkProvider.Shutdown(ctx); err != nil {
			otel.Handle(err)
		}
	}, nil
}
