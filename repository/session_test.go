package repository_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/storetest"
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
	storetest.WantError(t, "the error", err, domain.ErrUnavailable, context.DeadlineExceeded)
	wantFailures(engine.FailureTimeout)
	failure := errors.New("failure")
	storetest.WantError(t, "Each", store.Pets().Each(t.Context(), "", func(domain.Pet) error { return failure }), failure)
	_, err = store.Pets().Get(t.Context(), 4711)
	storetest.WantError(t, "Get", err, domain.ErrNotFound)
	err = store.InTx(t.Context(), func(context.Context, port.Repositories) error { return domain.PetNotAvailable(1) })
	storetest.WantError(t, "InTx", err, domain.ErrConflict)
	wantFailures()
}

func TestEachStatementHasASpan(t *testing.T) {
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
	failing := func(ctx context.Context) error { _ = s.InTx(ctx, adding("")); return nil }
	for _, test := range []struct {
		name string
		run  func(context.Context) error
		want []string // the operations
		code codes.Code
	}{
		{"plain SQL", inTx(adding(secret)), []string{"INSERT"}, codes.Unset},
		{"GORM", func(ctx context.Context) error { return calls["pets.Get"](ctx, s) }, []string{"SELECT"}, codes.Unset},
		{"GORM in a transaction", inTx(reading), []string{"SELECT"}, codes.Unset},
		{"rows of GORM", func(ctx context.Context) error { return calls["pets.List"](ctx, s) }, []string{"SELECT"}, codes.Unset},
		{"one row, after the time of the claims", inTx(claiming), []string{"SELECT", "SELECT"}, codes.Unset},
		{"GORM with a value", inTx(addingMany(1)), []string{"INSERT"}, codes.Unset},
		{"failed statement, again with a savepoint", failing, []string{"INSERT", "INSERT"}, codes.Error},
	} {
		ctx, request := provider.Tracer("test").Start(t.Context(), "request")
		spans.Reset()
		check(t, test.run(ctx))
		var operations []string
		for _, span := range spans.GetSpans() {
			operations = append(operations, span.Name)
			statement := span.Attributes[0].Value.AsString()
			if span.SpanKind != trace.SpanKindClient || span.Attributes[0].Key != "db.query.text" || !strings.HasPrefix(strings.TrimSpace(statement), span.Name) {
				t.Errorf("%s: got the span %+v, want that of a database client with its statement", test.name, span)
			}
			if strings.Contains(statement, secret) || span.Status.Code != test.code {
				t.Errorf("%s: got the statement %q and the status %v, want no value and %v", test.name, statement, span.Status, test.code)
			}
			storetest.Equal(t, test.name+": the parent of the span", request.SpanContext().SpanID(), span.Parent.SpanID())
		}
		storetest.Equal(t, test.name+": the spans", test.want, operations)
		request.End()
	}
}

// calls are a call of each kind.
var calls = map[string]func(context.Context, *repository.Store) error{
	"pets.Get": func(ctx context.Context, s *repository.Store) error { _, err := s.Pets().Get(ctx, 1); return err },
	"pets.List": func(ctx context.Context, s *repository.Store) error {
		_, err := s.Pets().List(ctx, domain.PetQuery{})
		return err
	},
	"pets.Count": func(ctx context.Context, s *repository.Store) error { _, err := s.Pets().Count(ctx, ""); return err },
	"pets.Each": func(ctx context.Context, s *repository.Store) error {
		return s.Pets().Each(ctx, "", func(domain.Pet) error { return nil })
	},
	"orders.Get": func(ctx context.Context, s *repository.Store) error { _, err := s.Orders().Get(ctx, 1); return err },
	"orders.List": func(ctx context.Context, s *repository.Store) error {
		_, err := s.Orders().List(ctx, domain.OrderQuery{})
		return err
	},
	"orders.Count": func(ctx context.Context, s *repository.Store) error { _, err := s.Orders().Count(ctx, ""); return err },
	"orders.Each": func(ctx context.Context, s *repository.Store) error {
		return s.Orders().Each(ctx, "", func(domain.Order) error { return nil })
	},
	"keys.List": func(ctx context.Context, s *repository.Store) error { _, err := s.Keys().List(ctx); return err },
	"keys.FindByHash": func(ctx context.Context, s *repository.Store) error {
		_, err := s.Keys().FindByHash(ctx, apikey.Hash{})
		return err
	},
	"InTx": func(ctx context.Context, s *repository.Store) error { return s.InTx(ctx, executing("SELECT 1")) },
	"Ping": func(ctx context.Context, s *repository.Store) error { return s.Ping(ctx) },
}

// A call that kept its connection would make later ones wait for ever.
func TestEveryReadReleasesItsConnection(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	store, other := open(t, e, repository.Options{}), open(t, e, repository.Options{})
	released := func(name string, err error) {
		t.Helper()
		if !store.TryAcquireReadSlots(maxOpenConns) {
			t.Fatalf("%s returned %v and kept its connection", name, err)
		}
		store.ReleaseReadSlots(maxOpenConns)
	}
	callAll := func(want ...error) {
		t.Helper()
		for name, call := range calls {
			err := call(t.Context(), store)
			released(name, err)
			storetest.WantError(t, name, err, want...)
		}
	}
	callAll() // without records
	inTx(t, other, adding("Rex"))
	callAll()
	failure := errors.New("failure")
	released("Each that its function stops", store.Pets().Each(t.Context(), "", func(domain.Pet) error { return failure }))
	func() {
		defer func() { _ = recover() }()
		_ = store.Pets().Each(t.Context(), "", func(domain.Pet) error { panic(failure) })
	}()
	released("Each whose function panics", failure)
	inTx(t, other, executing("ALTER TABLE pets RENAME TO pets_renamed"))
	_, err := store.Pets().Get(t.Context(), 1)
	released("Get without its table", err)
	if err == nil {
		t.Error("Get without its table: got no error")
	}
	check(t, store.Close())
	callAll(domain.ErrUnavailable)
}

// TestPagesOfACategoryAreFoundByTheirIndex: with ten million animals, other plans take up to a second.
func TestPagesOfACategoryAreFoundByTheirIndex(t *testing.T) {
	t.Parallel()
	store := open(t, newEngine(t), repository.Options{})
	for status, want := range map[domain.PetStatus]int{"": 4, domain.PetSold: 1} {
		query := domain.PetQuery{PageRequest: domain.PageRequest{After: 100, Limit: 20}, Status: status, CategoryID: new(int64(1))}
		plan, err := store.PlanOfCategory(query)
		check(t, err)
		if strings.Count(plan, "USING INDEX pets_category_id_status_id (category_id=? AND <expr>=? AND id>?)") != want {
			t.Errorf("status %q: the index is not used %d times:\n%s", status, want, plan)
		}
	}
}
