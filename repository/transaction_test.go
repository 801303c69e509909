package repository_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"example.com/petstore/domain"
	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/test/storetest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
)

// addingMany returns a function that adds n pets.
func addingMany(n int) txFunc {
	return func(ctx context.Context, r port.Repositories) error {
		pets := make([]domain.NewPet, n)
		for i := range pets {
			pets[i].Name = "Rex"
		}
		_, err := r.Pets.Create(ctx, pets)
		return err
	}
}

func TestDeadlineOfEachIsObservedAndErrorsOfCallersAreNot(t *testing.T) {
	t.Parallel()
	store, wantFailures := openCounting(t, newEngine(t))
	inTx(t, store, addingMany(2))
	soon, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	err := store.Pets().Each(soon, "", func(domain.Pet) error {
		<-soon.Done()
		return nil
	})
	testkit.WantError(t, "the error", err, domain.ErrUnavailable, context.DeadlineExceeded)
	wantFailures(engine.FailureTimeout)
	failure := errors.New("failure")
	testkit.WantError(t, "Each", store.Pets().Each(t.Context(), "", func(domain.Pet) error { return failure }), failure)
	_, err = store.Pets().Get(t.Context(), 4711)
	testkit.WantError(t, "Get", err, domain.ErrNotFound)
	err = store.InTx(t.Context(), func(context.Context, port.Repositories) error { return domain.PetNotAvailable(1, domain.PetSold) })
	testkit.WantError(t, "InTx", err, domain.ErrConflict)
	wantFailures()
}

// Otherwise a loop that polls would begin a trace ten times a second.
func TestEachStatementOfATraceHasASpan(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	s := open(t, newEngine(t), repository.Options{TracerProvider: provider})
	const secret = "a name that no span has"
	inTx := func(fn txFunc) func(context.Context) error {
		return func(ctx context.Context) error { return s.InTx(ctx, fn) }
	}
	reading := func(ctx context.Context, r port.Repositories) error { _, err := r.Pets.Get(ctx, 1); return err }
	claiming := func(ctx context.Context, r port.Repositories) error {
		claim := port.Claim{IdempotencyKey: domain.IdempotencyKey{Caller: "1", Value: secret}}
		_, _, err := r.Idempotency.Claim(ctx, claim)
		return err
	}
	failing := func(ctx context.Context) error { _, _ = s.Explain(ctx, "SELECT nothing"); return nil }
	check(t, inTx(adding(secret))(t.Context()))
	check(t, calls["pets.List"](t.Context(), s))
	testkit.Equal(t, "the number of spans without a trace", 0, len(spans.GetSpans()))
	for _, test := range []struct {
		name string
		run  func(context.Context) error
		want []string // the operations
		code codes.Code
	}{
		{"a write, which may share its statement", inTx(adding(secret)), nil, codes.Unset},
		{"GORM", func(ctx context.Context) error { return calls["pets.Get"](ctx, s) }, []string{"SELECT"}, codes.Unset},
		{"GORM in a transaction", inTx(reading), []string{"SELECT"}, codes.Unset},
		{"rows of GORM", func(ctx context.Context) error { return calls["pets.List"](ctx, s) }, []string{"SELECT"}, codes.Unset},
		{"one claim, after the clock of the claims was set", inTx(claiming), []string{"SELECT", "SELECT", "SELECT"}, codes.Unset},
		{"a failed statement", failing, []string{"EXPLAIN"}, codes.Error},
	} {
		ctx, request := provider.Tracer("test").Start(t.Context(), "request")
		spans.Reset()
		check(t, test.run(ctx))
		var operations []string
		for _, span := range spans.GetSpans() {
			operations = append(operations, span.Name)
			statement := span.Attributes[0].Value.AsString()
			if span.SpanKind != trace.SpanKindClient || span.Attributes[0].Key != "db.query.text" ||
				!strings.HasPrefix(strings.TrimSpace(statement), span.Name) {
				t.Errorf("%s: got the span %+v, want that of a database client with its statement", test.name, span)
			}
			if strings.Contains(statement, secret) || span.Status.Code != test.code {
				t.Errorf("%s: got the statement %q and the status %v, want no value and %v", test.name, statement, span.Status, test.code)
			}
			testkit.Equal(t, test.name+": the parent of the span", request.SpanContext().SpanID(), span.Parent.SpanID())
		}
		testkit.Equal(t, test.name+": the spans", test.want, operations)
		request.End()
	}
}

// A row with a status that is never stored makes the query that reads it ahead fail. The order of its animal was read before.
func TestOperationOnADamagedRowFailsAlone(t *testing.T) {
	t.Parallel()
	store := open(t, newEngine(t), repository.Options{})
	s := storetest.NewShop(t, store)
	good, bad := s.Add(), s.Add()
	order := s.Ordered(bad)
	inTx(t, store, func(ctx context.Context, r port.Repositories) error {
		return repository.ExecIn(ctx, r, fmt.Sprintf(`PRAGMA ignore_check_constraints = ON;
			UPDATE pets SET status = '?' WHERE id = %d; PRAGMA ignore_check_constraints = OFF`, bad))
	})
	damaged := fmt.Sprintf("the row of pets with the id %d is damaged", bad)
	got := s.Together(
		func() string { return s.Place(good) }, func() string { return s.Deliver(order) },
		func() string { return s.Rename(bad, "Tom") }, func() string { return s.Rename(good, "Tom") },
	)
	testkit.Equal(t, "the results", []string{"", damaged, damaged, ""}, got)
}
