package postgres_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/postgres"
	"example.com/petstore/repository/postgres/postgrestest"
	"example.com/petstore/repository/storetest"
)

func TestOpenRejectsOtherDatabasesUnchanged(t *testing.T) {
	t.Parallel()
	migrate := repository.Options{Migrate: true}
	for name, test := range map[string]struct {
		statements string
		options    repository.Options
		want       string
	}{
		"empty, not to be migrated":   {"", repository.Options{}, "run petstore migrate up"},
		"empty, but it must exist":    {"", repository.Options{Migrate: true, MustExist: true}, "run petstore migrate up"},
		"another program's with pets": {"CREATE TABLE pets (id int)", migrate, "the schema public: another program has a table pets in it"},
		// An animal would get an id from it, or from that of the store, so ids would not increase.
		"another program's sequence": {"CREATE SEQUENCE pets_id_seq START 1000", migrate, "another program has a table pets_id_seq in it"},
		"another program's migrations": {
			"CREATE TABLE goose_db_version (version_id int); CREATE VIEW versions AS SELECT 1", migrate, "another program has a table versions in it",
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
			storetest.Equal(t, "relations (-before +after)", before, relations(t, dsn))
		})
	}
}

func TestOpenReportsErrorsWithRemedyAndWithoutSecrets(t *testing.T) {
	t.Parallel()
	dsn, dir := server.NewDatabase(t), t.TempDir()
	key, encrypted, empty := filepath.Join(dir, "key"), filepath.Join(dir, "encrypted"), filepath.Join(dir, "ca.crt")
	check(t, os.WriteFile(empty, nil, 0o600))
	check(t, os.WriteFile(encrypted, []byte("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n-----END RSA PRIVATE KEY-----\n"), 0o600))
	check(t, os.WriteFile(key, []byte("-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n"), 0o600))
	for _, test := range []struct{ dsn, want string }{
		{"postgres://petstore:secret@127.0.0.1:1/pets", "start the server, or correct the DSN"},
		{"postgres://petstore:secret@127.0.0.1:1,127.0.0.1:2/pets", "start the server, or correct the DSN"},
		{"postgres://petstore:secret@127.0.0.1:port/pets", "write it as postgres://"},
		{"postgres://petstore:12/secret@127.0.0.1:1/pets", "write it as postgres://"},
		{"postgres://petstore:p@secret@127.0.0.1:1/pets", "write it as postgres://"},
		{"postgres://petstore:12?secret@127.0.0.1:1/pets", "write it as postgres://"},
		{"postgres://petstore:secret@127.0.0.1/pets?sslmode=verify-full&sslrootcert=/none/ca.crt", "open the store (invalid DSN): cannot read /none/ca.crt, which the DSN names: no such file or directory: correct the path"},
		{"postgres://petstore:secret@127.0.0.1/pets?sslmode=verify-full&sslrootcert=" + empty, "sslrootcert must name certificates"},
		{"postgres://petstore:secret@127.0.0.1/pets?sslmode=verify-full&sslrootcert=/none?password=secret", "write it as postgres://"},
		{"host=127.0.0.1 password=secret sslmode=require sslcert=/none/a.crt sslkey=/none/a.key", "cannot read /none/a.key, which the DSN names"},
		{"host=127.0.0.1 password=secret sslmode=require sslkey=" + key + " sslcert=/none/a.crt", "cannot read /none/a.crt, which the DSN names"},
		{"host=127.0.0.1 password=secret sslmode=require sslcert=" + empty + " sslkey=" + key, "sslcert and sslkey a certificate and its key"},
		{"host=127.0.0.1 password=secret application_name=http://x?y sslmode=require sslcert=" + empty, "sslcert and sslkey a certificate and its key"},
		{"host=127.0.0.1 password=secret sslmode=require sslcert=" + encrypted + " sslkey=" + encrypted, "an encrypted key needs its sslpassword"},
		{"host=127.0.0.1 user= password=secret dbname=pets", "an empty value as ''"},
		{"host= password=secret dbname=pets", "open the store (invalid DSN): "},
		{"host=127.0.0.1 dbname= password=secret", "open the store (invalid DSN): "},
		{"host=127.0.0.1;user=pets;password=secret", "open the store (invalid DSN): "},
		{"host=127.0.0.1 password=secret service=pets servicefile=" + empty, "its servicefile does not have its service: write it as postgres://"},
		{"host=127.0.0.1 password=secret service=pets servicefile=/none/pg_service.conf", "its servicefile does not have its service: write it as postgres://"},
		{postgrestest.With(postgrestest.With(dsn, "password", "secret"), "dbname", "missing"), "the database does not exist: create it"},
		{postgrestest.With(postgrestest.With(dsn, "password", "secret"), "user", "missing"), "the server does not let the user of the DSN connect"},
		// The rest of a password, or all of it, in other places.
		{postgrestest.With(dsn, "user", "secret"), "the server does not let the user of the DSN connect"},
		{dsn + " secret=1", "the server refused the connection (SQLSTATE 42704): correct the DSN"},
		{dsn + " options= password=secret", "the server refused the connection (SQLSTATE "},
		{dsn + " timezone= password=secret", "the server refused the connection (SQLSTATE 22023): correct the DSN"},
		{postgrestest.With(dsn, "host", "127.0.0.1,127.0.0.1") + " user=secret port=1,2", "connection refused; dial tcp 127.0.0.1:2"},
	} {
		wantOpenError(t, test.dsn, repository.Options{Migrate: true}, test.want)
	}
}

// wantOpenError expects that Open returns one line with text, but not the password secret.
func wantOpenError(t *testing.T, dsn string, o repository.Options, text string) {
	t.Helper()
	_, err := repository.Open(t.Context(), postgres.New(dsn), o)
	storetest.WantMessage(t, "Open", err, text)
	if err != nil && (strings.Contains(err.Error(), "\t") || strings.Contains(err.Error(), "sec")) {
		t.Errorf("got the error %v, want none with a tab or the password", err)
	}
}

func TestNameHasHostsAndDatabaseAlone(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"postgres://u:secret@db1:5432,db2:5433/pets?sslmode=prefer": "pets on db1:5432,db2:5433",
		"host=/run/postgresql user=shop password=secret":            "shop on /run/postgresql:5432",
		" postgres://u:secret@db1/pets?sslmode=disable":             "(invalid DSN)",
		"host=db1 dbname=postgres://u:secret@db2/pets":              "(invalid DSN)",
		"postgres://db1/postgres://u:secret@db2":                    "(invalid DSN)",
		"mysql://u:secret@db1/pets?sslmode=disable":                 "(invalid DSN)",
		"host=db1 dbname=\npostgres://u:secret@db2/pets":            "(invalid DSN)",
		"host=db1 mysql://u:secret@db2/pets?sslmode=disable":        "(invalid DSN)",
		"host=db1 dbname=pets application_name=http://shop":         "pets on db1:5432",
		"postgres://db1/pets?application_name=http://shop":          "pets on db1:5432",
	} {
		storetest.Equal(t, "the name", want, postgres.New(dsn).String())
	}
}

func TestOpenMigratesStoreWithOlderSchemaAndRejectsNewer(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	check(t, open(t, dsn, repository.Options{Migrate: true}).Close())
	execute(t, dsn, `DROP FUNCTION record_pets CASCADE; DROP FUNCTION record_orders CASCADE; DROP TABLE changes; DROP TABLE recording; DROP INDEX pets_category_id_status_id;
		ALTER TABLE api_keys DROP COLUMN read_only, DROP COLUMN lineage; DELETE FROM petstore_schema_version WHERE version_id > 3;
		INSERT INTO api_keys (name, hash, last_four, created_at) VALUES ('till 1', decode(repeat('00', 32), 'hex'), 'last', 0);
		INSERT INTO idempotency_keys (caller, value, fingerprint, claimed_at)
			SELECT caller, 'k', hash, 0 FROM api_keys, unnest(ARRAY['10', 'ann']) AS caller`)
	before := relations(t, dsn)
	wantOpenError(t, dsn, repository.Options{}, fmt.Sprintf("the store has 3, this program needs %d: run petstore migrate up", engine.SchemaVersion))
	storetest.Equal(t, "relations (-before +after)", before, relations(t, dsn))
	store := open(t, dsn, repository.Options{Migrate: true})
	storetest.Equal(t, "the schema", engine.Schema{Version: engine.SchemaVersion, Previous: 3}, store.Schema())
	keys, err := store.Keys().List(t.Context())
	if err != nil || len(keys) != 1 || keys[0].ReadOnly {
		t.Errorf("got the keys %+v and %v, want one that may do all", keys, err)
	}
	storetest.Equal(t, "the scopes of an API key and of another caller", []string{"10", ":ann"},
		queryTexts(t, dsn, "SELECT caller FROM idempotency_keys ORDER BY caller"))
	execute(t, dsn, "INSERT INTO petstore_schema_version (version_id, is_applied) VALUES (99999, true)")
	wantOpenError(t, dsn, repository.Options{Migrate: true}, "use a newer petstore")
}

func TestStoreMayBeInAnySchema(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"shop", "Shop", "my-shop"} {
		dsn := server.NewDatabase(t)
		execute(t, dsn, `CREATE SCHEMA "`+name+`"`)
		store := open(t, postgrestest.With(dsn, "search_path", `"`+name+`"`), repository.Options{Migrate: true})
		check(t, store.InTx(t.Context(), adding("Rex")))
	}
}

// PostgreSQL would take the bytes of a name for characters of the other encoding, and convert them.
func TestTextsAreUTF8WhateverTheSettingsOfTheDatabase(t *testing.T) {
	t.Parallel()
	const name = "さくら"
	for _, encoding := range []string{"LATIN1", "WIN1252"} { // without an error, and with one
		dsn := server.NewDatabase(t)
		execute(t, dsn, "ALTER DATABASE "+databaseOf(t, dsn)+" SET client_encoding = '"+encoding+"'")
		check(t, open(t, dsn, repository.Options{Migrate: true}).InTx(t.Context(), adding(name)))
		stored := queryTexts(t, postgrestest.With(dsn, "client_encoding", "UTF8"), "SELECT name FROM pets")
		storetest.Equal(t, encoding+": names", []string{name}, stored)
	}
}

func TestOpenRejectsUserWithoutPrivileges(t *testing.T) {
	t.Parallel()
	_, dsn := openNew(t)
	user := databaseOf(t, dsn) + "_user"
	execute(t, dsn, "CREATE ROLE "+user+" LOGIN; GRANT USAGE ON SCHEMA public TO "+user)
	const onTables, onSequences = " ON ALL TABLES IN SCHEMA public TO ", "USAGE ON ALL SEQUENCES IN SCHEMA public "
	for _, step := range []struct{ statements, want string }{
		{"GRANT SELECT" + onTables + user + "; GRANT " + onSequences + "TO " + user, "grant the user SELECT, INSERT, UPDATE and DELETE on all tables"},
		{"GRANT INSERT, UPDATE, DELETE" + onTables + user + "; REVOKE " + onSequences + "FROM " + user, "grant the user USAGE on all sequences"},
	} {
		execute(t, dsn, step.statements)
		wantOpenError(t, postgrestest.With(dsn, "user", user), repository.Options{}, step.want)
	}
	execute(t, dsn, "GRANT "+onSequences+"TO "+user)
	check(t, open(t, postgrestest.With(dsn, "user", user), repository.Options{}).InTx(t.Context(), adding("Rex")))
}

func TestConcurrentOpensCreateOneStore(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	created := storetest.Concurrently(t, 8, func(int) (bool, error) {
		store, err := repository.Open(t.Context(), postgres.New(dsn), repository.Options{Migrate: true})
		if err != nil {
			return false, err
		}
		return store.Schema().Created, errors.Join(store.InTx(t.Context(), adding("Rex")), store.Close())
	})
	storetest.Equal(t, "how many stores were created", 1, created)
	wantPets(t, open(t, dsn, repository.Options{}), 8)
}

// The rules of package domain reject it before.
func TestTextThatPostgreSQLCannotStoreFails(t *testing.T) {
	t.Parallel()
	store, _ := openNew(t)
	if err := store.InTx(t.Context(), adding("Rex\x00")); err == nil || errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("got %v, want an error that is not unavailable", err)
	}
	check(t, store.InTx(t.Context(), adding("Rex")))
}

func execute(t *testing.T, dsn, statement string) {
	t.Helper()
	db := connect(t, dsn)
	_, err := db.ExecContext(t.Context(), statement)
	check(t, errors.Join(err, db.Close()))
}

// connect returns a pool that is closed when the test ends.
func connect(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	check(t, err)
	t.Cleanup(func() { check(t, db.Close()) })
	return db
}

func databaseOf(t *testing.T, dsn string) string {
	return queryTexts(t, dsn, "SELECT current_database()")[0]
}

// relations returns the tables, indexes and sequences of a database.
func relations(t *testing.T, dsn string) []string {
	t.Helper()
	return queryTexts(t, dsn, "SELECT relname FROM pg_class WHERE oid >= 16384 ORDER BY relname")
}

func queryTexts(t *testing.T, dsn, query string) (texts []string) {
	t.Helper()
	rows, err := connect(t, dsn).QueryContext(context.WithoutCancel(t.Context()), query)
	check(t, err)
	defer rows.Close()
	for rows.Next() {
		var text string
		check(t, rows.Scan(&text))
		texts = append(texts, text)
	}
	check(t, rows.Err())
	return texts
}

// A proxy does what all pools do: it sends another process id than that of the server.
func TestOpenRejectsConnectionPool(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	config, err := pgx.ParseConfig(dsn)
	check(t, err)
	network, address := pgconn.NetworkAddress(config.Host, config.Port)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { check(t, listener.Close()) })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := new(net.Dialer).DialContext(t.Context(), network, address)
			if err != nil {
				t.Error(err)
				return
			}
			go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
			go func() { _, _ = io.Copy(client, changePID{server}); _ = client.Close() }()
		}
	}()
	host, port, err := net.SplitHostPort(listener.Addr().String())
	check(t, err)
	pooled := postgrestest.With(postgrestest.With(postgrestest.With(dsn, "host", host), "port", port), "sslmode", "disable")
	wantOpenError(t, pooled, repository.Options{Migrate: true}, "name the server itself")
	storetest.Equal(t, "the number of relations", 0, len(relations(t, dsn)))
}

// changePID changes the message BackendKeyData of a server.
type changePID struct{ io.Reader }

func (r changePID) Read(p []byte) (n int, err error) {
	n, err = r.Reader.Read(p)
	header := []byte{'K', 0, 0, 0, 12} // before the process id
	if i := bytes.Index(p[:n], header); i >= 0 && i+len(header) < n {
		p[i+len(header)] ^= 0x40
	}
	return n, err
}
