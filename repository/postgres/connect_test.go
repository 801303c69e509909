package postgres_test

import (
	"bytes"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/internal/test/postgrestest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
)

// If a connection had another encoding than UTF-8, PostgreSQL would take the bytes of a name for characters of
// that encoding, and convert them.
func TestTextsAreUTF8WhateverTheSettingsOfTheDatabase(t *testing.T) {
	t.Parallel()
	const name = "さくら"
	// If the connection used LATIN1, the name would be stored wrongly. With WIN1252, the transaction would fail.
	for _, encoding := range []string{"LATIN1", "WIN1252"} {
		dsn := server.NewDatabase(t)
		execute(t, dsn, "ALTER DATABASE "+databaseOf(t, dsn)+" SET client_encoding = '"+encoding+"'")
		check(t, open(t, dsn, repository.Options{}).InTx(t.Context(), adding(name)))
		stored := queryTexts(t, postgrestest.With(dsn, "client_encoding", "UTF8"), "SELECT name FROM pets")
		testkit.Equal(t, encoding+": names", []string{name}, stored)
	}
}

// Like each connection pool, this proxy sends another process id than the id of the server.
func TestOpenRejectsConnectionPool(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	pooled := throughProxy(t, dsn, unchanged, func(server io.Reader) io.Reader { return changePID{server} })
	wantOpenError(t, pooled, repository.Options{}, "name the server itself")
	testkit.Equal(t, "the number of relations", 0, len(relations(t, dsn)))
}

// throughProxy returns the DSN of a proxy of the database with dsn. What client and server send is read through fromClient and
// fromServer.
func throughProxy(t *testing.T, dsn string, fromClient, fromServer func(io.Reader) io.Reader) string {
	t.Helper()
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
			go func() { _, _ = io.Copy(server, fromClient(client)); _ = server.Close() }()
			go func() { _, _ = io.Copy(client, fromServer(server)); _ = client.Close() }()
		}
	}()
	host, port, err := net.SplitHostPort(listener.Addr().String())
	check(t, err)
	return postgrestest.With(postgrestest.With(postgrestest.With(dsn, "host", host), "port", port), "sslmode", "disable")
}

func unchanged(r io.Reader) io.Reader { return r }

// A changePID changes the process id in the message BackendKeyData of a server.
type changePID struct{ io.Reader }

func (r changePID) Read(p []byte) (n int, err error) {
	n, err = r.Reader.Read(p)
	header := []byte{'K', 0, 0, 0, 12} // precedes the process id
	if i := bytes.Index(p[:n], header); i >= 0 && i+len(header) < n {
		p[i+len(header)] ^= 0x40
	}
	return n, err
}
