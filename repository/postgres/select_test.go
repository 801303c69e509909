package postgres_test

import (
	"context"
	"slices"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
)

// TestPagesOfAStatusAreFoundByTheirIndex checks that pages of a status use the index of the status.
// PostgreSQL believes that each category has animals of each status. If it read ten million animals in the
// order of their ids, a page would take a second.
func TestPagesOfAStatusAreFoundByTheirIndex(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	store := open(t, dsn, repository.Options{})
	err := store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		news := slices.Repeat([]domain.NewPet{
			{Name: "Rex", CategoryID: 1, Status: domain.PetSold},
			{Name: "Tom", CategoryID: 2, Status: domain.PetPending},
		}, 5000)
		_, err := r.Pets.Create(ctx, news)
		return err
	})
	check(t, err)
	execute(t, dsn, "ANALYZE")
	for _, query := range []domain.PetQuery{
		{CategoryID: new(int64(1))}, // reads the index once for each status
		{CategoryID: new(int64(1)), Statuses: []domain.PetStatus{domain.PetSold}},
		{CategoryID: new(int64(1)), Statuses: []domain.PetStatus{domain.PetPending}},
		{CategoryID: new(int64(2)), Statuses: []domain.PetStatus{"", domain.PetSold}},
		{Statuses: []domain.PetStatus{domain.PetAvailable}},
		{Statuses: []domain.PetStatus{domain.PetPending}},
		{Statuses: []domain.PetStatus{""}},
		{Statuses: []domain.PetStatus{domain.PetSold, "", domain.PetAvailable}},
	} {
		for _, newest := range []bool{false, true} {
			query.PageRequest = domain.PageRequest{After: 100, Limit: 20, Newest: newest}
			_, err := store.Pets().List(t.Context(), query)
			check(t, err)
		}
	}
	check(t, store.Close())
	want := []string{"pets_category_id_status_id 16", "pets_status_id 12"}
	testkit.WaitUntil(t, "the indexes are used", func() bool { // PostgreSQL counts the uses when a connection ends
		const scans = "SELECT indexrelname || ' ' || idx_scan FROM pg_stat_user_indexes " +
			"WHERE relname = 'pets' AND indexrelname <> 'pets_pkey' ORDER BY 1"
		return slices.Equal(want, queryTexts(t, dsn, scans))
	})
}
