package repository_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
)

func TestOpenRejectsUnfinishedCopy(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	store := open(t, e, repository.Options{})
	inTx(t, store, executing("INSERT INTO unfinished_copy (source) VALUES ('other.db')"))
	_, err := repository.Open(t.Context(), e, repository.Options{})
	if err == nil || !strings.HasPrefix(err.Error(), "open the store "+e.String()+": it is an unfinished copy of other.db: ") {
		t.Errorf("got %v, want that the store is an unfinished copy of other.db", err)
	}
}

func TestOpenRejectsMaxStalenessOfMoreThanFiveSeconds(t *testing.T) {
	t.Parallel()
	open(t, newEngine(t), repository.Options{MaxStaleness: 5 * time.Second})
	store, err := repository.Open(t.Context(), newEngine(t), repository.Options{Migrate: true, MaxStaleness: 5*time.Second + 1})
	if err == nil || !strings.HasSuffix(err.Error(), ": the option MaxStaleness is 5.000000001s: use at most 5s") {
		t.Errorf("got %v, want that MaxStaleness is too large", err)
	}
	if err == nil {
		_ = store.Close()
	}
}

// An endingEngine ends a context once it has opened a database.
type endingEngine struct {
	engine.Engine
	end context.CancelFunc
}

func (e endingEngine) Open(ctx context.Context, o engine.Options) (engine.Database, error) {
	defer e.end()
	return e.Engine.Open(ctx, o)
}

func TestEndOfContextInterruptsOpen(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	store, err := repository.Open(ctx, endingEngine{newEngine(t), cancel}, repository.Options{Migrate: true})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if err == nil {
		_ = store.Close()
	}
}

func TestOpenReturnsTheFailureOfTheFirstPoll(t *testing.T) {
	t.Parallel()
	failure := errors.New("failure")
	store, err := repository.Open(t.Context(), failingEngine{newEngine(t), failure}, repository.Options{Migrate: true})
	if !errors.Is(err, failure) {
		t.Errorf("got %v, want %v", err, failure)
	}
	if err == nil {
		_ = store.Close()
	}
}

// A failingEngine opens databases whose PollChanges fails.
type failingEngine struct {
	engine.Engine
	err error
}

func (e failingEngine) Open(ctx context.Context, o engine.Options) (engine.Database, error) {
	database, err := e.Engine.Open(ctx, o)
	return failingDatabase{database, e.err}, err
}

type failingDatabase struct {
	engine.Database
	err error
}

func (d failingDatabase) PollChanges(context.Context) (engine.Changes, error) {
	return engine.Changes{}, d.err
}
