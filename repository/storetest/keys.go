package storetest

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
)

func keyIsFound(t *testing.T, s Store) {
	secret := domain.GenerateKey()
	key, err := domain.NewKey("till 1", secret, noon)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Keys().Find(t.Context(), key.Hash)
	wantError(t, err, domain.ErrUnauthenticated, domain.CodeInvalidAPIKey)

	inTx(t, s, func(ctx context.Context, r domain.Repositories) error {
		before, err := r.Keys.Any(ctx)
		if err != nil {
			return err
		}
		if _, err := r.Keys.Create(ctx, key); err != nil {
			return err
		}
		after, err := r.Keys.Any(ctx)
		if before || !after {
			t.Errorf("any key before %t, after %t, want false and true", before, after)
		}
		return err
	})

	want := domain.APIKey{ID: 1, Name: "till 1", Hash: key.Hash, LastFour: secret[len(secret)-4:], CreatedAt: noon}
	got, err := s.Keys().Find(t.Context(), key.Hash)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("found %v (-want +got)\n%s", err, diff)
	}
}
