package postgres_test

import (
	"bytes"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/repository"
	"example.com/petstore/repository/postgres/postgrestest"
	"example.com/petstore/repository/storetest"
)

func TestOpenRejectsConnectionPool(t *testing.T) {
	t.Parallel()
	dsn := server.NewDatabase(t)
	host, port, err := net.SplitHostPort(startPool(t, dsn))
	check(t, err)
	pooled := postgrestest.With(postgrestest.With(postgrestest.With(dsn, "host", host), "port", port), "sslmode", "disable")
	wantOpenError(t, pooled, repository.Options{Migrate: true}, "name the server itself")
	storetest.Equal(t, "the number of relations", 0, len(relations(t, dsn)))
}

// startPool returns the address of a proxy that does what all pools do: it sends another
// process id than that of the server.
func startPool(t *testing.T, dsn string) string {
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
			go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
			go func() { _, _ = io.Copy(client, changePID{server}); _ = client.Close() }()
		}
	}()
	return listener.Addr().String()
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
