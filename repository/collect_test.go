package repository

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/petstore/domain"
	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/test/testkit"
)

// A failingTx runs some statements, and then fails.
type failingTx struct {
	engine.Tx
	left, failed int
}

var errStatement = errors.New("the disk is full")

func (t *failingTx) Queue(string, ...any) error {
	if t.left--; t.left >= 0 {
		return nil
	}
	t.failed++
	return errStatement
}

// When the disk is full, SQLite ends the transaction. Each further statement would be committed by itself.
func TestNothingIsWrittenAfterAStatementThatFailed(t *testing.T) {
	t.Parallel()
	for succeed := range 4 { // the changes, the counts, the category without animals, and the numbers
		c := newCollector(engine.State{Available: 1})
		pet := domain.Pet{ID: 1, Name: "Rex", CategoryID: 2, Status: domain.PetAvailable}
		c.add(context.Background(), domain.ChangePetRemoved, domain.ChangedRecords{Pet: &pet})
		tx := &failingTx{left: succeed}
		testkit.WantError(t, "the error", c.write(tx, time.Now()), errStatement)
		testkit.Equal(t, "the statements that failed", 1, tx.failed)
	}
}
