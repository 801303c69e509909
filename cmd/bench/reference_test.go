package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
)

// The reference serves the same store as petstore.
func TestReferenceServesPets(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pets.db")
	store, err := repository.Open(t.Context(), sqlite.New(file), repository.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := openStore(file, 1)
	if err != nil {
		t.Fatal(err)
	}
	const rex = `{"id":1,"name":"Rex","categoryId":7,"status":"available"}`
	for _, test := range []struct {
		method, path string
		status       int
		want         string
	}{
		{http.MethodPost, listPath, http.StatusCreated, rex},
		{http.MethodGet, listPath, http.StatusOK, "[" + rex + "]"},
		{http.MethodGet, listPath + "?limit=1&after=1", http.StatusOK, "[]"},
		{http.MethodGet, listPath + "?limit=0", http.StatusBadRequest, ""},
		{http.MethodGet, listPath + "/1", http.StatusOK, rex},
		{http.MethodGet, listPath + "/2", http.StatusNotFound, ""},
	} {
		request := httptest.NewRequestWithContext(t.Context(), test.method, test.path, strings.NewReader(newPet))
		response := httptest.NewRecorder()
		ginAndGORM(db).ServeHTTP(response, request)
		if got := response.Body.String(); response.Code != test.status || got != test.want {
			t.Errorf("%s %s: got %d %s, want %d %s", test.method, test.path, response.Code, got, test.status, test.want)
		}
	}
}
