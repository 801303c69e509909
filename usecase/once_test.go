package usecase_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
	"example.com/petstore/internal/port"
	"example.com/petstore/usecase"
)

// keyOf returns an idempotency key of a caller.
func keyOf(caller, value string) domain.IdempotencyKey {
	return domain.IdempotencyKey{Caller: caller, Value: value}
}

func TestRetryAddsNothing(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	tom := domain.NewPet{Name: "Tom"}
	for i, step := range []struct {
		pet  domain.NewPet
		key  domain.IdempotencyKey
		want int64 // the id; for a replay, the id of the first request
	}{
		{rex, keyOf("1", "k"), 1},
		{rex, keyOf("1", "k"), 1},
		{rex, keyOf("2", "k"), 2},
		{rex, domain.IdempotencyKey{}, 3},
		{rex, domain.IdempotencyKey{}, 4},
		{tom, keyOf("3", "k"), 5},
	} {
		got, replayed, err := s.pets.Create(t.Context(), step.pet, step.key)
		if diff := cmp.Diff(step.pet.WithID(step.want), got); err != nil || diff != "" || replayed != (i == 1) {
			t.Errorf("step %d: got %v and replayed %t (-want +got)\n%s", i, err, replayed, diff)
		}
	}
	_, replayed, err := s.pets.Create(t.Context(), rex, keyOf("3", "k"))
	if wantError(t, err, domain.ErrReused, "idempotency_key_reused"); replayed {
		t.Error("another request with the key was replayed")
	}
	s.wantNames(t, "Rex", "Rex", "Rex", "Rex", "Tom")
}

// create adds Rex, and reports whether the result is a replay.
func (s *testStore) create(t *testing.T, key string) (replayed bool) {
	t.Helper()
	_, replayed, err := s.pets.Create(t.Context(), rex, keyOf("1", key))
	check(t, err)
	return replayed
}

// reopen opens the store again. It looks for expired claims at its first claim, and then once a minute.
func reopen(t *testing.T, s *testStore) *testStore {
	t.Helper()
	check(t, s.Close())
	return newTestStoreOf(t, s.database)
}

func TestClaimExpiresAndIsRemoved(t *testing.T) {
	t.Parallel()
	for age, kept := range map[time.Duration]bool{port.IdempotencyTTL: true, port.IdempotencyTTL + 2*time.Hour: false} {
		s := newTestStore(t)
		for _, key := range []string{"old", "other", "newest"} {
			s.create(t, key)
		}
		s.database.Exec(t, "UPDATE idempotency_keys SET claimed_at = claimed_at - $1 WHERE value <> 'newest'", age.Milliseconds())
		s = reopen(t, s)
		if got := s.create(t, "old"); got != kept {
			t.Errorf("%s before the newest: got replayed %t", age, got)
		}
		s.create(t, "next")
		var found bool
		check(t, s.database.Connect(t).QueryRowContext(t.Context(), "SELECT count(*) > 0 FROM idempotency_keys WHERE value = 'other'").Scan(&found))
		if found != kept {
			t.Errorf("%s before the newest: got that the claim is stored %t", age, found)
		}
	}
}

// Claims of the same time are removed in several transactions, because others wait meanwhile.
func TestExpiredClaimsAreRemovedAFewAtATime(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	s.create(t, "first")
	s.database.Exec(t, `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
		INSERT INTO idempotency_keys SELECT caller, 'expired ' || i, fingerprint, NULL, 1 FROM idempotency_keys, n`)
	s = reopen(t, s)
	const most = 512
	for stored, key := 1201, 0; stored > key+1; key++ {
		s.create(t, strconv.Itoa(key))
		stored = max(stored-most, key+1) + 1
		var got int
		err := s.database.Connect(t).QueryRowContext(t.Context(), "SELECT count(*) FROM idempotency_keys").Scan(&got)
		if err != nil || got != stored {
			t.Fatalf("after transaction %d: got %d claims and %v, want %d", key, got, err, stored)
		}
	}
}

func TestDamagedResultIsNotReplayed(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	retry := func() error {
		_, replayed, err := s.pets.Create(t.Context(), rex, keyOf("1", "k"))
		if replayed {
			t.Error("got a replay")
		}
		return err
	}
	check(t, retry())
	s.database.Exec(t, "UPDATE idempotency_keys SET result = $1", []byte("{"))
	if err := retry(); err == nil || errors.As(err, new(*domain.Error)) {
		t.Errorf("got %v, want an error other than a domain.Error", err)
	}
	s.wantNames(t, "Rex")
}

// The next version of the program reads the stored results. It also compares the fingerprint of the values
// of a request. The form of these values last changed before the first release. Do not change an expected
// text: omit a new field of domain.NewPet when it is empty. Otherwise retries of requests from before an
// upgrade are rejected.
func TestStoredResultsStayReadable(t *testing.T) {
	t.Parallel()
	order := domain.Order{ID: 1, PetID: 2, Status: domain.OrderPlaced, CreatedAt: noon, UpdatedAt: noon}
	for want, value := range map[string]any{
		`{"name":"Rex","categoryId":7,"status":"available"}`: rex,
		`[{"id":1,"name":"Rex","categoryId":7}]`:             []domain.Pet{{ID: 1, Name: "Rex", CategoryID: 7}},

		`{"id":1,"petId":2,"status":"placed","createdAt":"2026-11-20T12:00:00Z","updatedAt":"2026-11-20T12:00:00Z"}`: order,
	} {
		if got := must[[]byte](t)(json.Marshal(value)); string(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestRetryIsReplayedWhateverTheClock(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	pet := s.add(t, "")
	for i, jump := range []time.Duration{0, 25 * time.Hour, -25 * time.Hour, 0} {
		s.now = noon.Add(jump)
		s.create(t, jump.String()) // removes expired claims
		order, replayed, err := s.orders.Place(t.Context(), pet, keyOf("1", "k"))
		if err != nil || order.ID != 1 || replayed != (i > 0) {
			t.Errorf("with the clock set by %s: got %+v, replayed %t and %v", jump, order, replayed, err)
		}
	}
}

// A lateFailure is a Transactor whose commits fail.
type lateFailure struct{ port.Transactor }

var errCommit = errors.New("the commit failed")

func (l lateFailure) InTx(ctx context.Context, fn func(context.Context, port.Repositories) error, reads ...port.Reads) error {
	return l.Transactor.InTx(ctx, func(ctx context.Context, r port.Repositories) error { return errors.Join(fn(ctx, r), errCommit) }, reads...)
}

func TestNothingIsReturnedWithAnError(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	pets, _, err := usecase.NewPets(lateFailure{s.Store}, s.Pets()).CreateAll(t.Context(), []domain.NewPet{rex}, keyOf("1", "k"))
	if !errors.Is(err, errCommit) || pets != nil {
		t.Errorf("got %v and %v, want only the error of the commit", pets, err)
	}
}
