package postgres

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	"golang.org/x/sync/errgroup"

	"example.com/petstore"
	"example.com/petstore/domain"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository/postgres"
	"example.com/petstore/test/harness"
)

// storePosition is the statement of docs/embedding.md by which one of several followers handles a change.
const storePosition = "UPDATE positions SET position = $1 WHERE position < $1"

func TestOneOfSeveralFollowersHandlesEachChange(t *testing.T) {
	t.Parallel()
	if !strings.Contains(harness.ReadFile(t, "../../docs/embedding.md"), storePosition) {
		t.Errorf("docs/embedding.md lacks %s", storePosition)
	}
	db, err := sql.Open("pgx", server.NewDatabase(t)) // of the host
	testkit.Check(t, err)
	t.Cleanup(func() { _ = db.Close() })
	_, err = db.ExecContext(t.Context(), `
		CREATE TABLE handled (seq bigint);
		CREATE TABLE positions (position bigint);
		INSERT INTO positions VALUES (0)`)
	testkit.Check(t, err)
	dsn := server.NewDatabase(t)
	var services []*petstore.Service
	for range 3 { // as in three processes
		service, err := petstore.New(t.Context(), postgres.New(dsn), petstore.Options{})
		testkit.Check(t, err)
		t.Cleanup(func() { testkit.Check(t, service.Close()) })
		services = append(services, service)
	}
	const animals = 50
	begin, err := services[0].Changes().Latest(t.Context())
	testkit.Check(t, err)
	_, _, err = services[0].Pets().CreateAll(t.Context(), slices.Repeat([]domain.NewPet{{Name: "Rex"}}, animals), domain.IdempotencyKey{})
	testkit.Check(t, err)
	last := begin + animals
	all, broken := errors.New("all changes"), errors.New("broken")
	var once sync.Once
	var group errgroup.Group
	for _, service := range services {
		group.Go(func() error {
			err := service.Follow(t.Context(), 0, func(ctx context.Context, change domain.Change) error {
				var failure error
				if change.Seq == begin+animals/2 { // the first one to handle it fails
					once.Do(func() { failure = broken })
				}
				if err := handleOnce(ctx, db, change, failure); err != nil || change.Seq < last {
					return err
				}
				return all
			})
			if !errors.Is(err, all) && !errors.Is(err, broken) {
				return err
			}
			return nil
		})
	}
	testkit.Check(t, group.Wait())
	var got, want []int64
	rows, err := db.QueryContext(t.Context(), "SELECT seq FROM handled ORDER BY seq")
	testkit.Check(t, err)
	defer rows.Close()
	for rows.Next() {
		got = append(got, 0)
		testkit.Check(t, rows.Scan(&got[len(got)-1]))
	}
	testkit.Check(t, rows.Err())
	for i := range int64(animals) {
		want = append(want, begin+1+i)
	}
	testkit.Equal(t, "the changes that were handled", want, got)
}

// handleOnce handles a change, unless another process has. If failure is not nil, it fails before the commit.
func handleOnce(ctx context.Context, db *sql.DB, change domain.Change, failure error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	result, err := tx.ExecContext(ctx, storePosition, change.Seq) // waits for a process that handles the change
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO handled VALUES ($1)", change.Seq); err != nil {
		return err
	}
	if failure != nil {
		return failure
	}
	return tx.Commit()
}
