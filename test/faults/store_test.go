package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/test/harness"
)

// readStore opens a store as the service does, and returns its animals by name. It returns an
// error for a store that does not pass SQLite's checks.
func readStore(ctx context.Context, path string) (_ map[string][]storedPet, err error) {
	store, err := repository.Open(ctx, sqlite.New(path), repository.Options{MustExist: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := checkIntegrity(ctx, path); err != nil {
		return nil, err
	}
	orders := map[int64][]storedOrder{}
	err = store.Orders().Each(ctx, "", func(o domain.Order) error {
		orders[o.PetID] = append(orders[o.PetID], storedOrder{o.ID, string(o.Status)})
		return nil
	})
	if err != nil {
		return nil, err
	}
	pets := map[string][]storedPet{}
	err = store.Pets().Each(ctx, "", func(p domain.Pet) error {
		pets[p.Name] = append(pets[p.Name], storedPet{p.ID, p.CategoryID, string(p.Status), orders[p.ID]})
		return nil
	})
	return pets, err
}

// checkIntegrity returns what SQLite's checks find.
func checkIntegrity(ctx context.Context, path string) (err error) {
	db, err := sql.Open("sqlite3", "file:"+path+"?mode=rw&_busy_timeout=5000")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var found string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check").Scan(&found); err != nil {
		return err
	}
	var violations int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM pragma_foreign_key_check").Scan(&violations); err != nil {
		return err
	}
	if found != "ok" || violations != 0 {
		return fmt.Errorf("integrity_check: %s; %d violations of foreign keys", found, violations)
	}
	return nil
}

// wantStore expects that the store in a folder, which no server uses, agrees with the ledger, in
// which something was acknowledged.
func (l *ledger) wantStore(t *testing.T, folder string) {
	t.Helper()
	if l.acknowledged == 0 {
		t.Errorf("got %v, want some acknowledged", l)
	}
	stored, err := readStore(t.Context(), harness.StorePath(folder))
	harness.Check(t, err)
	report(t, l.compare(stored, atTheEnd))
}

// retryAndCompare repeats the requests with an Idempotency-Key whose outcome is unknown, stops the
// server and compares its store with the ledger.
func (l *ledger) retryAndCompare(t *testing.T, s *server, folder string) {
	t.Helper()
	newClients(l, s, 1).retry(t)
	s.Stop(t)
	l.wantStore(t, folder)
}

// report reports the first problems.
func report(t *testing.T, problems []string) {
	t.Helper()
	for _, problem := range problems[:min(len(problems), 10)] {
		t.Error(problem)
	}
	if len(problems) > 10 {
		t.Errorf("and %d more", len(problems)-10)
	}
}
