package repository

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/mattn/go-sqlite3"
	"gorm.io/gorm"

	"example.com/petstore/domain"
)

// A transaction is what the acts of a batch share.
type transaction struct {
	*gorm.DB
	conn    *sql.Conn
	within  domain.Repositories
	acts    int // that ran
	effects effects
}

// run runs the jobs one behind the other. A guarded one has a savepoint before it, to
// which the transaction returns when it fails. Without guard, run gives up with
// errSpoiled when a job fails that has changed something; one that is refused before
// it changed anything, as most are, harms nobody.
func (t *transaction) run(batch []*job, guarded bool) error {
	for _, j := range batch {
		if !j.start() {
			continue
		}
		t.acts++
		if guarded {
			if err := t.do("SAVEPOINT act"); err != nil {
				return err
			}
		}
		t.effects.touched = false
		j.run(t.within)
		if err := t.stands(j); err != nil {
			return err
		}
		if !guarded && j.failed() && t.effects.touched {
			return errSpoiled
		}
		if guarded {
			if err := t.leave(j); err != nil {
				return err
			}
		}
	}
	return nil
}

// leave ends the savepoint before a job, and what the job did behind it if it failed.
func (t *transaction) leave(j *job) error {
	if j.failed() {
		if err := t.do("ROLLBACK TO act"); err != nil {
			return err
		}
	}
	return t.do("RELEASE act")
}

// stands returns an error when the transaction is no more: SQLite ends it by itself
// when it cannot go on, as on a full disk, and what comes next would be committed
// statement by statement (sqlite.org/lang_transaction.html).
func (t *transaction) stands(after *job) error {
	return t.conn.Raw(func(driver any) error {
		if driver.(*sqlite3.SQLiteConn).AutoCommit() {
			// What failed is told, but is no kind of failure to the others, unless it was SQLite's.
			if engine, ok := errors.AsType[sqlite3.Error](after.err); ok {
				return fmt.Errorf("%w after: %w", errLost, engine)
			}
			return fmt.Errorf("%w after: %s", errLost, after.reason())
		}
		return nil
	})
}

func (t *transaction) do(statement string) error {
	_, err := t.Statement.ConnPool.ExecContext(context.Background(), statement)
	return err
}
