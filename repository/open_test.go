package repository_test

import (
	"context"
	"testing"
	"time"

	"example.com/petstore/repository"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/storetest"
)

func TestOpenRejectsUnfinishedCopy(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	store := open(t, e, repository.Options{})
	inTx(t, store, executing("INSERT INTO unfinished_copy (source) VALUES ('other.db')"))
	_, err := repository.Open(t.Context(), e, repository.Options{})
	storetest.WantMessage(t, "Open", err, "open the store "+e.String()+": it is an unfinished copy of other.db: ")
}

func TestOpenRejectsMaxStalenessOfMoreThanFiveSeconds(t *testing.T) {
	t.Parallel()
	open(t, newEngine(t), repository.Options{MaxStaleness: 5 * time.Second})
	_, err := repository.Open(t.Context(), newEngine(t), repository.Options{Migrate: true, MaxStaleness: 5*time.Second + 1})
	storetest.WantMessage(t, "Open", err, ": the option MaxStaleness is 5.000000001s: use at most 5s")
}

func TestOpenReturnsTheFailureOfTheFirstPollAndTheEndOfItsContext(t *testing.T) {
	t.Parallel()
	for want, change := range map[error]func(engine.Database, context.CancelFunc) engine.Database{
		errFailure: func(d engine.Database, _ context.CancelFunc) engine.Database { return polledDatabase{d, false, failed} },
		context.Canceled: func(d engine.Database, cancel context.CancelFunc) engine.Database {
			cancel()
			return d
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		e := wrapped{newEngine(t), func(d engine.Database) engine.Database { return change(d, cancel) }}
		_, err := repository.Open(ctx, e, repository.Options{Migrate: true})
		storetest.WantError(t, "Open", err, want)
		cancel()
	}
}
