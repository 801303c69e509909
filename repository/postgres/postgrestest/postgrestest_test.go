package postgrestest_test

import (
	"testing"

	"go.uber.org/goleak"

	"example.com/petstore/repository/postgres/postgrestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestServerCanBeStoppedAndStarted(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t, "max_connections=7")
	server.NewDatabase(t)
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := server.Exec(t.Context(), "SELECT 1"); err == nil {
		t.Error("a stopped server executed a statement")
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	if err := server.Exec(t.Context(), "SELECT 1 / (current_setting('max_connections') = '7')::int"); err != nil {
		t.Error(err)
	}
}
