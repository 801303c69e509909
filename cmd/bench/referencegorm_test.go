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

// The scenario with Idempotency-Keys compares servers that do the same.
func TestGORMReferenceCreatesOnceWithKey(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pets.db")
	store, err := repository.Open(t.Context(), sqlite.New(file), repository.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	handler, err := ginAndGORM(file, 1)
	if err != nil {
		t.Fatal(err)
	}
	post := func(key string) string {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/pets", strings.NewReader(`{"name":"Rex","categoryId":1,"status":"available"}`))
		request.Header.Set("Idempotency-Key", key)
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, request)
		if response.Code != http.StatusCreated {
			t.Errorf("got the status %d, want 201", response.Code)
		}
		return response.Body.String()
	}
	first, retry, other := post("a"), post("a"), post("b")
	if first != retry || first == other {
		t.Errorf("got %s, for the retry %s, and for another key %s", first, retry, other)
	}
}
