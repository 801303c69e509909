package repository_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/test/enginetest"
	"example.com/petstore/internal/test/storetest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
)

// TestPagesAreFoundByTheirIndex checks the plans of pages. With ten million records, other plans take up to
// a second.
func TestPagesAreFoundByTheirIndex(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	store := open(t, newEngine(t), repository.Options{TracerProvider: provider})
	ctx, _ := provider.Tracer("test").Start(t.Context(), "request") // a statement has a span only within a trace
	pets := func(category *int64, statuses ...domain.PetStatus) func(domain.PageRequest) error {
		return func(page domain.PageRequest) error {
			_, err := store.Pets().List(ctx, domain.PetQuery{PageRequest: page, CategoryID: category, Statuses: statuses})
			return err
		}
	}
	orders := func(petID *int64, statuses ...domain.OrderStatus) func(domain.PageRequest) error {
		return func(page domain.PageRequest) error {
			_, err := store.Orders().List(ctx, domain.OrderQuery{PageRequest: page, PetID: petID, Statuses: statuses})
			return err
		}
	}
	const pk, ofStatus = "INTEGER PRIMARY KEY (rowid%s?)", "INDEX %s_status_id (status=? AND id%%s?)"
	const (
		ofCategory = "INDEX pets_category_id_status_id (category_id=? AND status=? AND id%s?)"
		ofPet      = "INDEX orders_pet_id_status_id (pet_id=? AND status=? AND id%s?)"
	)
	for i, test := range []struct {
		list  func(domain.PageRequest) error
		times int
		index string // the name of the index, and the condition for id
	}{
		{pets(nil), 1, pk},
		{pets(nil, ""), 1, fmt.Sprintf(ofStatus, "pets")},
		{pets(nil, "", domain.PetSold, domain.PetPending), 3, fmt.Sprintf(ofStatus, "pets")},
		{pets(new(int64(1))), 4, ofCategory},
		{pets(new(int64(1)), ""), 1, ofCategory},
		{pets(new(int64(1)), domain.PetSold, domain.PetAvailable), 2, ofCategory},
		{orders(nil), 1, pk},
		{orders(nil, domain.OrderPlaced, domain.OrderCancelled), 2, fmt.Sprintf(ofStatus, "orders")},
		{orders(new(int64(1))), 3, ofPet},
		{orders(new(int64(1)), domain.OrderPlaced, domain.OrderCancelled), 2, ofPet},
	} {
		for newest, operator := range map[bool]string{false: ">", true: "<"} {
			spans.Reset()
			check(t, test.list(domain.PageRequest{After: 100, Limit: 20, Newest: newest}))
			plan, err := store.Explain(t.Context(), spans.GetSpans()[0].Attributes[0].Value.AsString())
			check(t, err)
			if strings.Count(plan, fmt.Sprintf(test.index, operator)) != test.times || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("list %d, newest %t: %s is not used %d times in its order:\n%s", i, newest, test.index, test.times, plan)
			}
		}
	}
}

// A search reads only the rows of its window: each index has the ids, from the first to the last of the window, behind the
// other conditions.
func TestSearchReadsTheRowsOfItsWindow(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	store := open(t, newEngine(t), repository.Options{TracerProvider: provider})
	ctx, _ := provider.Tracer("test").Start(t.Context(), "request")
	for index, query := range map[string]domain.PetQuery{
		"INTEGER PRIMARY KEY (rowid>? AND rowid<?)":                                       {},
		"INDEX pets_status_id (status=? AND id>? AND id<?)":                               {Statuses: []domain.PetStatus{"", domain.PetSold}},
		"INDEX pets_category_id_status_id (category_id=? AND status=? AND id>? AND id<?)": {CategoryID: new(int64(1))},
	} {
		for newest, operator := range map[bool]string{false: ">", true: "<"} {
			spans.Reset()
			query.PageRequest, query.Text = domain.PageRequest{After: 100, Limit: 20, Newest: newest}, "rex"
			_, err := store.Pets().List(ctx, query)
			check(t, err)
			for i, want := range []string{"INTEGER PRIMARY KEY (rowid" + operator + "?)", index} {
				plan, err := store.Explain(t.Context(), spans.GetSpans()[i].Attributes[0].Value.AsString())
				check(t, err)
				if strings.Count(plan, "pets USING") != 1 || !strings.Contains(plan, want) {
					t.Errorf("statement %d, newest %t: got another plan than %s:\n%s", i, newest, want, plan)
				}
			}
		}
	}
}

// One statement inserts two animals, and the next one the third, whose id another program has used.
func TestAnimalsThatFailedAreNotAdded(t *testing.T) {
	t.Parallel()
	s := open(t, newEngine(t), repository.Options{})
	inTx(t, s, func(ctx context.Context, r port.Repositories) error {
		return repository.ExecIn(ctx, r, "INSERT INTO pets (id, name, category_id) VALUES (3, 'foreign', 0)")
	})
	_, _, err := storetest.CreatePets(t.Context(), s, []domain.NewPet{{Name: "Rex"}, {Name: "Tom"}, {Name: "Pia"}}, port.Claim{})
	if err == nil {
		t.Error("the animals were added")
	}
	wantNames(t, s, "foreign")
}

// The numbers of a category are deleted with its last animal.
func TestCategoryWithoutAnimalsHasNoRow(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	s := open(t, e, repository.Options{})
	inTx(t, s, adding("Rex"))
	rex := domain.Pet{ID: 1, Name: "Rex"}
	for range 100 {
		before := rex
		rex.CategoryID++
		inTx(t, s, func(ctx context.Context, r port.Repositories) error { return r.Pets.Update(ctx, before, rex) })
	}
	var rows int64
	db := enginetest.Database{Driver: enginetest.SQLite, DSN: e.String()}.Connect(t)
	check(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM categories").Scan(&rows))
	testkit.Equal(t, "the rows of categories", int64(1), rows)
}
