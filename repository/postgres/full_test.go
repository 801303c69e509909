//go:build postgres

package postgres_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/postgres/postgrestest"
)

// The limit of the size of files makes the server write only a part of a page, which it
// reports as a full disk.
func TestFullDiskIsUnavailableUntilThereIsSpace(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Start(t).NewDatabase(t) // on this machine
	var full atomic.Int32
	store := open(t, dsn, repository.Options{Migrate: true, ObserveFailure: func(failure engine.Failure) {
		if failure == engine.FailureFull {
			full.Add(1)
		}
	}})
	execute("INSERT INTO pets (name, category_id) SELECT repeat('x', 200), 1 FROM generate_series(1, 100000)")(t, dsn) // more than a file of the WAL
	limitFiles(t, dsn, queryTexts(t, dsn, "SELECT (pg_relation_size('pets') + 100)::text")[0])
	var err error
	add := adding(strings.Repeat("x", 1000))
	for i := 0; err == nil && i < 100; i++ {
		err = store.InTx(t.Context(), add)
	}
	for range 3 {
		wantUnavailable(t, "InTx", err)
		err = store.InTx(t.Context(), add)
	}
	if full.Load() != 4 {
		t.Errorf("got %d failures full, want 4", full.Load())
	}
	_, err = store.Pets().Get(t.Context(), 1)
	check(t, err)
	limitFiles(t, dsn, "unlimited")
	check(t, store.InTx(t.Context(), add))
	wantAvailable(t, store)
}

// limitFiles limits the size of the files that the connections of a store may write. The
// server runs prlimit, as its own user.
func limitFiles(t *testing.T, dsn, size string) {
	t.Helper()
	for _, pid := range queryTexts(t, dsn, "SELECT pid::text FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'petstore'") {
		execute("COPY (SELECT 1 LIMIT 0) TO PROGRAM 'prlimit --pid "+pid+" --fsize="+size+":'")(t, dsn)
	}
}
