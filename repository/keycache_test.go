package repository_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/port"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository"
)

// creatingKey returns a function that creates the first key, and the hash of the key.
func creatingKey(t *testing.T) (txFunc, apikey.Hash) {
	t.Helper()
	key, err := apikey.New("till 1", apikey.Generate(), time.UnixMilli(0), 0)
	check(t, err)
	return func(ctx context.Context, r port.Repositories) error {
		_, err := r.Keys.Create(ctx, key)
		return err
	}, key.Hash
}

var renaming = executing("UPDATE api_keys SET name = 'till 2'")

func wantKeyName(t *testing.T, s *repository.Store, hash apikey.Hash, want string) apikey.Key {
	t.Helper()
	key, err := s.Keys().FindByHash(t.Context(), hash)
	testkit.Equal(t, "the name of the key", want, key.Name, err)
	return key
}

func TestFoundKeyIsUsedForLessThanASecond(t *testing.T) {
	t.Parallel()
	s := open(t, newEngine(t), repository.Options{})
	create, hash := creatingKey(t)
	inTx(t, s, create)
	started := time.Now() // the key is read later
	wantKeyName(t, s, hash, "till 1")
	inTx(t, s, renaming) // on a slow disk, the key in memory may be too old afterwards
	testkit.WaitUntil(t, "the key is read again", func() bool {
		key, err := s.Keys().FindByHash(t.Context(), hash)
		check(t, err)
		return key.Name == "till 2"
	})
	if took := time.Since(started); took < repository.MaxKeyAge {
		t.Errorf("the key was read again after %s, want %s", took, repository.MaxKeyAge)
	}
}

// An awayDatabase is a database that is unavailable while away is true.
type awayDatabase struct {
	engine.Database
	away *atomic.Bool
}

func (d awayDatabase) Dialector() gorm.Dialector {
	return awayDialector{d.Database.Dialector(), d.away}
}

type awayDialector struct {
	gorm.Dialector
	away *atomic.Bool
}

func (d awayDialector) Initialize(db *gorm.DB) error {
	err := d.Dialector.Initialize(db)
	db.ConnPool = awayPool{db.ConnPool, d.away}
	return err
}

type awayPool struct {
	gorm.ConnPool
	away *atomic.Bool
}

func (p awayPool) QueryContext(ctx context.Context, statement string, args ...any) (*sql.Rows, error) {
	if p.away.Load() {
		return nil, driver.ErrBadConn
	}
	return p.ConnPool.QueryContext(ctx, statement, args...)
}

func TestFoundKeyIsUsedForATimeWhileTheDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	for stale, valid := range map[time.Duration]bool{time.Minute: true, 0: false, 1: false} {
		var away atomic.Bool
		e := wrapped{newEngine(t), func(d engine.Database) engine.Database { return awayDatabase{d, &away} }}
		s := open(t, e, repository.Options{StaleIfUnavailable: stale})
		create, hash := creatingKey(t)
		inTx(t, s, create)
		wantKeyName(t, s, hash, "till 1")
		inTx(t, s, renaming)
		away.Store(true)
		found := func() bool {
			_, err := s.Keys().FindByHash(t.Context(), hash)
			return err == nil
		}
		started := time.Now()
		for time.Since(started) < repository.MaxKeyAge {
			found()
		}
		testkit.Equal(t, "whether the key is found", valid, found())
		away.Store(false)
		wantKeyName(t, s, hash, "till 2")
	}
}

// A key that another process creates can be used immediately.
func TestUnknownKeyIsNotCached(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	s, other := open(t, e, repository.Options{}), open(t, e, repository.Options{})
	create, hash := creatingKey(t)
	_, err := s.Keys().FindByHash(t.Context(), hash)
	testkit.WantError(t, "FindByHash", err, domain.ErrUnauthenticated)
	inTx(t, other, create)
	wantKeyName(t, s, hash, "till 1")
}

// All connections that read wait for a database that hangs. After a check has failed, requests do not wait for it, too.
func TestReadsDoNotWaitForADatabaseThatHangs(t *testing.T) {
	t.Parallel()
	s := open(t, checking(newEngine(t), failed), repository.Options{Timeout: time.Hour, StaleIfUnavailable: time.Hour})
	create, hash := creatingKey(t)
	inTx(t, s, create)
	wantKeyName(t, s, hash, "till 1")
	check(t, s.AcquireReadSlots(t.Context(), maxOpenConns))
	defer s.ReleaseReadSlots(maxOpenConns)
	testkit.WaitUntil(t, "the key is too old to be used without a query", func() bool {
		_, err := s.Numbers(t.Context())
		testkit.WantError(t, "Numbers", err, domain.ErrUnavailable, errFailure)
		start := time.Now()
		wantKeyName(t, s, hash, "till 1")
		_, err = s.Pets().List(t.Context(), domain.PetQuery{PageRequest: domain.PageRequest{Limit: 1}})
		testkit.WantError(t, "List", err, domain.ErrUnavailable, errFailure)
		return time.Since(start) < time.Second && s.KeyAge(hash) > repository.MaxKeyAge
	})
}

// Clients with unknown keys, however many, leave connections to others.
func TestLookupsOfKeysShareAQuery(t *testing.T) {
	t.Parallel()
	s := open(t, newEngine(t), repository.Options{})
	create, known := creatingKey(t)
	inTx(t, s, create)
	const callers = 64
	check(t, s.AcquireReadSlots(t.Context(), maxOpenConns))
	found := make(chan int64, callers)
	for i := range callers {
		hash := known
		if i%4 != 0 {
			hash, _ = apikey.HashOf(apikey.Generate())
		}
		go func() {
			key, err := s.Keys().FindByHash(t.Context(), hash)
			if want := hash == known; (err == nil) != want || !want && !errors.Is(err, domain.ErrUnauthenticated) {
				t.Errorf("got the key %d and the error %v, want a key: %t", key.ID, err, want)
			}
			found <- key.ID
		}()
	}
	testkit.WaitUntil(t, "all look-ups wait", func() bool { return s.WaitingLookups() == callers })
	testkit.Equal(t, "the look-ups that wait for a connection", int64(1), s.ReadWaits())
	s.ReleaseReadSlots(maxOpenConns)
	sum := int64(0)
	for range callers {
		sum += <-found
	}
	testkit.Equal(t, "the number of keys that were found", int64(callers/4), sum)
}

// Each look-up waits at most for the timeout, and not one after the other.
func TestLookupsOfKeysShareATimeout(t *testing.T) {
	t.Parallel()
	s := open(t, newEngine(t), repository.Options{Timeout: time.Second})
	const callers = 8
	check(t, s.AcquireReadSlots(t.Context(), maxOpenConns))
	defer s.ReleaseReadSlots(maxOpenConns)
	results := make(chan error, callers)
	start := time.Now()
	for range callers {
		go func() {
			_, err := s.Keys().FindByHash(t.Context(), apikey.Hash{})
			results <- err
		}()
	}
	for range callers {
		testkit.WantError(t, "FindByHash", <-results, domain.ErrUnavailable, context.DeadlineExceeded)
	}
	if took := time.Since(start); took > testkit.Scaled(callers/2*time.Second) {
		t.Errorf("all look-ups took %s, want about 1s", took)
	}
}
