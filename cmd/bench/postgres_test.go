//go:build postgres

package main

import (
	"context"
	"io"
	"net/http"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository"
	"example.com/petstore/repository/postgres"
)

func TestReferenceAndPetstoreShareTheServerOnPostgres(t *testing.T) {
	t.Parallel()
	h := &harness{progress: io.Discard}
	err := h.startPostgres(t.Context())
	defer h.close()
	if err != nil {
		t.Fatal(err)
	}
	pg := h.postgres
	if pg.delayed < distance {
		t.Errorf("a query through the proxy took %v, want at least %v", pg.delayed, distance)
	}
	if err := pg.exec(t.Context(), "postgres", "CREATE DATABASE pets TEMPLATE template0"); err != nil {
		t.Fatal(err)
	}
	store, err := repository.Open(t.Context(), postgres.New(pg.dsn("pets", false)), repository.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	handler, err := ginAndGORM(pg.dsn("pets", true), 2)
	if err != nil {
		t.Fatal(err)
	}
	const rex = `{"id":1,"name":"Rex","categoryId":7,"status":"available"}`
	if got := serve(t, handler, http.MethodPost, listPath, newPet); got.Code != http.StatusCreated || got.Body.String() != rex {
		t.Errorf("%d %s, want %s", got.Code, got.Body, rex)
	}
	before, _, err := commits(t.Context(), pg.dsn("pets", false))
	if err != nil {
		t.Fatal(err)
	}
	err = store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		_, err := r.Pets.Create(ctx, domain.NewPet{Name: "Tom", CategoryID: 3})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	after, transactions, err := commits(t.Context(), pg.dsn("pets", true))
	if err != nil || after-before != 1 || transactions == 0 {
		t.Errorf("%d batches and %d transactions, %v; want one batch", after-before, transactions, err)
	}
}
