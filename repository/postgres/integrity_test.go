package postgres_test

import (
	"strings"
	"testing"

	"example.com/petstore/internal/test/storetest"
	"example.com/petstore/repository"
)

func TestCheckFindsAndRepairsWhatDiffers(t *testing.T) {
	t.Parallel()
	command, dsn := openNew(t)
	service := open(t, dsn, repository.Options{})
	storetest.RunCheck(t, service, command, func(t *testing.T, statement string) { execute(t, dsn, statement) })
}

func TestCheckFindsDamagedIndex(t *testing.T) {
	t.Parallel()
	store, dsn := openNew(t)
	find := func() ([]repository.Difference, string) {
		found, omitted, err := store.Check(t.Context())
		check(t, err)
		return found, omitted
	}
	if found, omitted := find(); len(found) > 0 || !strings.Contains(omitted, "the extension amcheck is missing: to check them, run ") {
		t.Errorf("without amcheck: got %v and %q", found, omitted)
	}
	execute(t, dsn, "CREATE EXTENSION amcheck")
	if found, omitted := find(); len(found) > 0 || omitted != "" {
		t.Errorf("intact: got %v and %q", found, omitted)
	}
	const index = "'pets_status_id'::regclass"
	execute(t, dsn, "UPDATE pg_index SET indisready = false WHERE indexrelid = "+index) // then an index gets no new rows
	check(t, store.InTx(t.Context(), adding("Rex")))
	execute(t, dsn, "UPDATE pg_index SET indisready = true WHERE indexrelid = "+index)
	found, omitted := find()
	if len(found) != 1 || !strings.HasPrefix(found[0].Text, "the index pets_status_id is damaged (") || found[0].Repairable() || omitted != "" {
		t.Errorf("damaged: got %v and %q", found, omitted)
	}
}
