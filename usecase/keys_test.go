package usecase_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/usecase"
)

func TestCreatedKeyIsKnownAtOnce(t *testing.T) {
	t.Parallel()
	store := open(t)
	keys := usecase.NewKeys(store, store.Keys(), (&clock{noon}).now)
	secret := must[string](t)(keys.Create(t.Context(), "till 1"))
	key := must[domain.APIKey](t)(keys.Authenticate(t.Context(), secret))
	if key.Name != "till 1" || !strings.HasSuffix(secret, key.LastFour) || key.CreatedAt != noon {
		t.Errorf("got %+v", key)
	}
}

func TestOneAnswerForEveryWrongKey(t *testing.T) {
	t.Parallel()
	store := open(t)
	keys := usecase.NewKeys(store, store.Keys(), (&clock{noon}).now)
	secret := must[string](t)(keys.Create(t.Context(), "till 1"))
	for _, wrong := range []string{"", secret[1:], domain.GenerateKey()} {
		_, err := keys.Authenticate(t.Context(), wrong)
		wantError(t, err, domain.ErrUnauthenticated, domain.CodeInvalidAPIKey)
	}
}

// A closed store answers no query, so whatever is refused here cost none.
func TestMalformedKeyCostsNoQuery(t *testing.T) {
	t.Parallel()
	store := open(t)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	keys := usecase.NewKeys(store, store.Keys(), (&clock{noon}).now)
	_, err := keys.Authenticate(t.Context(), "petstore_"+strings.Repeat("0", 49))
	wantError(t, err, domain.ErrUnauthenticated, domain.CodeInvalidAPIKey)
	if _, err := keys.Authenticate(t.Context(), domain.GenerateKey()); err == nil {
		t.Error("a well-formed key was judged without the store")
	}
}

func TestKeyWithABadNameIsNotIssued(t *testing.T) {
	t.Parallel()
	store := open(t)
	keys := usecase.NewKeys(store, store.Keys(), (&clock{noon}).now)
	secret, err := keys.Create(t.Context(), " ")
	wantError(t, err, domain.ErrInvalid, domain.CodeValidationFailed)
	if secret != "" {
		t.Error("a secret came with the error")
	}
	if first := must[string](t)(keys.CreateFirst(t.Context(), "first")); first == "" {
		t.Error("a key stands in the store")
	}
}

func TestFirstKeyIsIssuedOnce(t *testing.T) {
	t.Parallel()
	store := open(t)
	keys := usecase.NewKeys(store, store.Keys(), (&clock{noon}).now)
	var issued atomic.Int32
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			secret, err := keys.CreateFirst(t.Context(), "first")
			if err != nil {
				t.Error(err)
			}
			if secret != "" {
				issued.Add(1)
			}
		})
	}
	wait.Wait()
	if issued.Load() != 1 {
		t.Errorf("%d first keys were issued", issued.Load())
	}
}
