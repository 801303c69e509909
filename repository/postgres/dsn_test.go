package postgres_test

import (
	"os"
	"path/filepath"
	"testing"

	"example.com/petstore/internal/test/postgrestest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
	"example.com/petstore/repository/postgres"
)

func TestOpenReportsErrorsWithRemedyAndWithoutSecrets(t *testing.T) {
	t.Parallel()
	dsn, dir := server.NewDatabase(t), t.TempDir()
	key, encrypted, empty := filepath.Join(dir, "key"), filepath.Join(dir, "encrypted"), filepath.Join(dir, "ca.crt")
	check(t, os.WriteFile(empty, nil, 0o600))
	check(t, os.WriteFile(encrypted, []byte("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n"+
		"-----END RSA PRIVATE KEY-----\n"), 0o600))
	check(t, os.WriteFile(key, []byte("-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n"), 0o600))
	for _, test := range []struct{ dsn, want string }{
		{"postgres://petstore:secret@127.0.0.1:1/pets?connect_timeout=60", "start the server, or correct the DSN"},
		{"postgres://petstore:secret@127.0.0.1:1,127.0.0.1:2/pets?connect_timeout=60", "start the server, or correct the DSN"},
		{"postgres://petstore:secret@127.0.0.1:port/pets", "write it as postgres://"},
		{"postgres://petstore:12/secret@127.0.0.1:1/pets", "write it as postgres://"},
		{"postgres://petstore:p@secret@127.0.0.1:1/pets", "write it as postgres://"},
		{"postgres://petstore:12?secret@127.0.0.1:1/pets", "write it as postgres://"},
		{
			"postgres://petstore:secret@127.0.0.1/pets?sslmode=verify-full&sslrootcert=/none/ca.crt",
			"open the store (invalid DSN): cannot read /none/ca.crt, which the DSN names: no such file or directory: correct the path",
		},
		{"postgres://petstore:secret@127.0.0.1/pets?sslmode=verify-full&sslrootcert=" + empty, "sslrootcert must name certificates"},
		{"postgres://petstore:secret@127.0.0.1/pets?sslmode=verify-full&sslrootcert=/none?password=secret", "write it as postgres://"},
		{"host=127.0.0.1 password=secret sslmode=require sslcert=/none/a.crt sslkey=/none/a.key", "cannot read /none/a.key, which the DSN names"},
		{"host=127.0.0.1 password=secret sslmode=require sslkey=" + key + " sslcert=/none/a.crt", "cannot read /none/a.crt, which the DSN names"},
		{"host=127.0.0.1 password=secret sslmode=require sslcert=" + empty + " sslkey=" + key, "sslcert and sslkey a certificate and its key"},
		{
			"host=127.0.0.1 password=secret application_name=http://x?y sslmode=require sslcert=" + empty,
			"sslcert and sslkey a certificate and its key",
		},
		{"host=127.0.0.1 password=secret sslmode=require sslcert=" + encrypted + " sslkey=" + encrypted, "an encrypted key needs its sslpassword"},
		{"host=127.0.0.1 user= password=secret dbname=pets", "an empty value as ''"},
		{"host= password=secret dbname=pets", "open the store (invalid DSN): "},
		{"host=127.0.0.1 dbname= password=secret", "open the store (invalid DSN): "},
		{"host=127.0.0.1;user=pets;password=secret", "open the store (invalid DSN): "},
		{"host=127.0.0.1 password=secret service=pets servicefile=" + empty, "its servicefile does not have its service: write it as postgres://"},
		{
			"host=127.0.0.1 password=secret service=pets servicefile=/none/pg_service.conf",
			"its servicefile does not have its service: write it as postgres://",
		},
		{postgrestest.With(postgrestest.With(dsn, "password", "secret"), "dbname", "missing"), "the database does not exist: create it"},
		{postgrestest.With(postgrestest.With(dsn, "password", "secret"), "user", "missing"), "the server does not let the user of the DSN connect"},
		// The DSN has the password, or a part of it, in a wrong place.
		{postgrestest.With(dsn, "user", "secret"), "the server does not let the user of the DSN connect"},
		{dsn + " secret=1", "the server refused the connection (SQLSTATE 42704): correct the DSN"},
		{dsn + " options= password=secret", "the server refused the connection (SQLSTATE "},
		{dsn + " timezone= password=secret", "the server refused the connection (SQLSTATE 22023): correct the DSN"},
		{postgrestest.With(dsn, "host", "127.0.0.1,127.0.0.1") + " user=secret port=1,2", "connection refused; dial tcp 127.0.0.1:2"},
	} {
		wantOpenError(t, test.dsn, repository.Options{}, test.want)
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
		testkit.Equal(t, "the name", want, postgres.New(dsn).String())
	}
}
