//go:build postgres

package postgres_test

import (
	"flag"
	"testing"

	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/modeltest"
	"example.com/petstore/repository/postgres"
)

func TestStoreAgreesWithItsModel(t *testing.T) {
	t.Parallel()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue { // a sequence takes long here
		check(t, checks.Value.Set("20"))
	}
	dsn := server.NewDatabase(t)
	check(t, open(t, dsn, repository.Options{Migrate: true}).Close())
	db := connect(t, dsn)
	modeltest.Run(t, 2, func() engine.Engine {
		_, err := db.ExecContext(t.Context(), "TRUNCATE pets, orders, api_keys, idempotency_keys RESTART IDENTITY")
		check(t, err)
		return postgres.New(dsn)
	})
}
