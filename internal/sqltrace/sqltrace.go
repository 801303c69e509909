// Package sqltrace creates a span for each statement of a trace on a connection pool.
package sqltrace

import (
	"context"
	"database/sql"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"gorm.io/gorm"
)

// Pool returns a pool that creates a span for each statement whose context has a valid span. A statement without one, as
// of a loop that polls, would be a trace of its own, ten a second. If provider is nil, Pool returns pool itself. A span
// has the text of the statement, as the attribute db.query.text of OpenTelemetry's semantic conventions, and no values.
func Pool(pool gorm.ConnPool, provider trace.TracerProvider) gorm.ConnPool {
	if provider == nil {
		return pool
	}
	return tracedPool{pool, provider.Tracer("example.com/petstore/internal/sqltrace")}
}

type tracedPool struct {
	gorm.ConnPool
	tracer trace.Tracer
}

// ExecContext implements gorm.ConnPool.
func (p tracedPool) ExecContext(ctx context.Context, statement string, args ...any) (sql.Result, error) {
	ctx, end := p.start(ctx, statement)
	result, err := p.ConnPool.ExecContext(ctx, statement, args...)
	end(err)
	return result, err
}

// QueryContext implements gorm.ConnPool.
func (p tracedPool) QueryContext(ctx context.Context, statement string, args ...any) (*sql.Rows, error) {
	ctx, end := p.start(ctx, statement)
	rows, err := p.ConnPool.QueryContext(ctx, statement, args...)
	end(err)
	return rows, err
}

// QueryRowContext implements gorm.ConnPool.
func (p tracedPool) QueryRowContext(ctx context.Context, statement string, args ...any) *sql.Row {
	ctx, end := p.start(ctx, statement)
	row := p.ConnPool.QueryRowContext(ctx, statement, args...)
	end(row.Err())
	return row
}

func (p tracedPool) start(ctx context.Context, statement string) (context.Context, func(error)) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx, func(error) {}
	}
	operation, _, _ := strings.Cut(strings.TrimSpace(statement), " ")
	ctx, span := p.tracer.Start(ctx, operation, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("db.query.text", statement)))
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}
