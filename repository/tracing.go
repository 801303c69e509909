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

// traced returns the database with a span for each statement, or database itself for a
// nil provider.
func traced(database Database, provider trace.TracerProvider) Database {
	if provider == nil {
		return database
	}
	return tracedDatabase{database, provider.Tracer("example.com/petstore/repository")}
}

type tracedDatabase struct {
	Database
	tracer trace.Tracer
}

// Readers implements Database.
func (d tracedDatabase) Readers() gorm.ConnPool { return tracedPool{d.Database.Readers(), d.tracer} }

// Begin implements Database.
func (d tracedDatabase) Begin(ctx context.Context) (Tx, error) {
	tx, err := d.Database.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return tracedTx{tx, tracedPool{tx, d.tracer}}, nil
}

// A tracedPool creates a span for each statement that GORM or a session runs on a
// connection pool. A span has the text of the statement, never a value.
type tracedPool struct {
	gorm.ConnPool
	tracer trace.Tracer
}

// ExecContext implements gorm.ConnPool.
func (p tracedPool) ExecContext(ctx context.Context, statement string, args ...any) (sql.Result, error) {
	ctx, span := startSpan(ctx, p.tracer, statement)
	result, err := p.ConnPool.ExecContext(ctx, statement, args...)
	endSpan(span, err)
	return result, err
}

// QueryContext implements gorm.ConnPool.
func (p tracedPool) QueryContext(ctx context.Context, statement string, args ...any) (*sql.Rows, error) {
	ctx, span := startSpan(ctx, p.tracer, statement)
	rows, err := p.ConnPool.QueryContext(ctx, statement, args...)
	endSpan(span, err)
	return rows, err
}

// A tracedTx is a tracedPool on a transaction.
type tracedTx struct {
	Tx
	pool tracedPool
}

// ExecContext implements gorm.ConnPool.
func (t tracedTx) ExecContext(ctx context.Context, statement string, args ...any) (sql.Result, error) {
	return t.pool.ExecContext(ctx, statement, args...)
}

// QueryContext implements gorm.ConnPool.
func (t tracedTx) QueryContext(ctx context.Context, statement string, args ...any) (*sql.Rows, error) {
	return t.pool.QueryContext(ctx, statement, args...)
}

// Insert implements Tx.
func (t tracedTx) Insert(ctx context.Context, statement string, args ...any) (int64, error) {
	ctx, span := startSpan(ctx, t.pool.tracer, statement)
	id, err := t.Tx.Insert(ctx, statement, args...)
	endSpan(span, err)
	return id, err
}

// startSpan follows the semantic conventions for database client spans of OpenTelemetry.
func startSpan(ctx context.Context, tracer trace.Tracer, statement string) (context.Context, trace.Span) {
	operation, _, _ := strings.Cut(statement, " ")
	return tracer.Start(ctx, operation, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("db.query.text", statement)))
}

func endSpan(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}
