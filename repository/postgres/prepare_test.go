package postgres_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/test/postgrestest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/repository/postgres"
)

func TestOpenRejectsOtherDatabasesUnchanged(t *testing.T) {
	t.Parallel()
	var migrate repository.Options
	for name, test := range map[string]struct {
		statements string
		options    repository.Options
		want       string
	}{
		"empty, not to be migrated":   {"", repository.Options{Options: engine.Options{NoMigration: true}}, "run petstore migrate up"},
		"another program's with pets": {"CREATE TABLE pets (id int)", migrate, "the schema public: another program has a table pets in it"},
		"another program's migrations": {
			"CREATE TABLE goose_db_version (version_id int); CREATE VIEW changes AS SELECT 1", migrate, "another program has a table changes in it",
		},
		"a petstore's before version 1.0.0": {
			`CREATE TABLE pets (); CREATE TABLE orders (); CREATE TABLE versions (); CREATE TABLE petstore_schema_version AS SELECT 1 AS version_id`,
			migrate, "a petstore before version 1.0.0 has made the store",
		},
		"another program's with pets and versions": {
			"CREATE TABLE pets (); CREATE TABLE orders (); CREATE TABLE versions ()", migrate, "another program has a table orders in it",
		},
		"asynchronous commits": {"ALTER DATABASE $name SET synchronous_commit = off", migrate, "synchronous_commit is off"},
		"no schema":            {"DROP SCHEMA public", migrate, "create the schema"},
		"read-only":            {"ALTER DATABASE $name SET default_transaction_read_only = on", migrate, "read-only"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := server.NewDatabase(t)
			execute(t, dsn, strings.ReplaceAll(test.statements, "$name", databaseOf(t, dsn)))
			before := relations(t, dsn)
			wantOpenError(t, dsn, test.options, test.want)
			testkit.Equal(t, "relations (-before +after)", before, relations(t, dsn))
		})
	}
}

// wantOpenError expects that the error of Open is one line with text, and does not contain the password
// secret.
func wantOpenError(t *testing.T, dsn string, o repository.Options, text string) {
	t.Helper()
	_, err := repository.Open(t.Context(), postgres.New(dsn), o)
	testkit.WantMessage(t, "Open", err, text)
	if err != nil && (strings.Contains(err.Error(), "\t") || strings.Contains(err.Error(), "secret")) {
		t.Errorf("got the error %v, want none with a tab or the password", err)
	}
}

func TestStoreMayBeInAnySchema(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"shop", "Shop", "my-shop"} {
		dsn := server.NewDatabase(t)
		execute(t, dsn, `CREATE SCHEMA "`+name+`"`)
		store := open(t, postgrestest.With(dsn, "search_path", `"`+name+`"`), repository.Options{})
		check(t, store.InTx(t.Context(), adding("Rex")))
	}
}

func TestTimeOfTheMigrationIsUTC(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.With(server.NewDatabase(t), "timezone", "Asia/Tokyo")
	for range 2 { // creates the store, and opens it again
		store := open(t, dsn, repository.Options{})
		if age := time.Since(store.Schema().MigratedAt); age < -time.Minute || age > time.Hour {
			t.Errorf("got the time %s, want now", store.Schema().MigratedAt)
		}
		check(t, store.Close())
	}
}

// Programs before version 1.0.0 had a table of the name versions.
func TestStoreMayBeBesideATableVersionsOfAnotherProgram(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	execute(t, dsn, "CREATE TABLE versions (id int)")
	for range 2 { // creates the store, and opens it again
		store := open(t, dsn, repository.Options{})
		testkit.Equal(t, "the tables of other programs", "versions", store.Schema().OtherTables)
		check(t, store.Close())
	}
}

func TestOpenRejectsUserWithoutPrivileges(t *testing.T) {
	t.Parallel()
	_, dsn := openNew(t)
	user := databaseOf(t, dsn) + "_user"
	execute(t, dsn, "CREATE ROLE "+user+" LOGIN; GRANT USAGE ON SCHEMA public TO "+user)
	const onTables = " ON ALL TABLES IN SCHEMA public TO "
	execute(t, dsn, "GRANT SELECT"+onTables+user)
	wantOpenError(t, postgrestest.With(dsn, "user", user), repository.Options{}, "grant the user SELECT, INSERT, UPDATE and DELETE on all tables")
	execute(t, dsn, "GRANT INSERT, UPDATE, DELETE"+onTables+user)
	check(t, open(t, postgrestest.With(dsn, "user", user), repository.Options{}).InTx(t.Context(), adding("Rex")))
}

func TestConcurrentOpensCreateOneStore(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	created := testkit.Concurrently(t, 8, func(int) (bool, error) {
		store, err := repository.Open(t.Context(), postgres.New(dsn), repository.Options{})
		if err != nil {
			return false, err
		}
		if s := store.Schema(); (s.Previous != s.Version) != s.Created {
			t.Errorf("got the schema %+v, want that only the process that has created the store has migrated it", s)
		}
		return store.Schema().Created, errors.Join(store.InTx(t.Context(), adding("Rex")), store.Close())
	})
	testkit.Equal(t, "how many stores were created", 1, created)
	wantPets(t, open(t, dsn, repository.Options{}), 8)
}

// relations returns the tables, indexes and sequences of a database.
func relations(t *testing.T, dsn string) []string {
	t.Helper()
	return queryTexts(t, dsn, "SELECT relname FROM pg_class WHERE oid >= 16384 ORDER BY relname")
}
