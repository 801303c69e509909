package repository

import (
	"context"
	"database/sql"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"gorm.io/gorm"
)

// A tracedPool creates a span for each statement on a connection pool. The span has the text of
// the statement, never a value.
type tracedPool struct {
	gorm.ConnPool
	tracer trace.Tracer
}

// traced returns the pool with spans, or the pool itself without a tracer.
func traced(pool gorm.ConnPool, tracer trace.Tracer) gorm.ConnPool {
	if tracer == nil {
		return pool
	}
	return tracedPool{pool, tracer}
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

// start follows the semantic conventions for database client spans of OpenTelemetry.
func (p tracedPool) start(ctx context.Context, statement string) (context.Context, func(error)) {
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
