package repository

import (
	"context"
	"fmt"
	"slices"
)

// copyRowsPerInsert is the number of rows in an INSERT (docs/performance.md).
const copyRowsPerInsert = 500

// A copyTarget is the store that Copy writes to.
type copyTarget struct{ Database }

// begin marks an empty store as an unfinished copy. It does nothing if the store is one of the
// same source already.
func (c copyTarget) begin(ctx context.Context, source string) error {
	return c.inTx(ctx, func(ctx context.Context, tx Tx) error {
		earlier, err := unfinishedCopyOf(ctx, tx)
		switch {
		case err != nil || earlier == source:
			return err
		case earlier != "":
			return fmt.Errorf("it is an unfinished copy of %s: copy from that, or name an empty target", earlier)
		}
		for _, t := range copiedTables {
			var rows int64
			if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM "+t.name+" LIMIT 1) AS first").Scan(&rows); err != nil {
				return err
			}
			if rows > 0 {
				return fmt.Errorf("it is not empty, the table %s has rows: name a new file or an empty database", t.name)
			}
			if !t.hasIDs {
				continue
			}
			if err := c.SetLastID(ctx, tx, t.name, 0); err != nil { // fails before the first row if finish would fail
				return fmt.Errorf("set the ids of %s, which the owner of the table may do: %w", t.name, err)
			}
		}
		_, err = tx.ExecContext(ctx, c.Rebind("INSERT INTO unfinished_copy (source) VALUES (?)"), source)
		return err
	})
}

// insert inserts rows, whose values follow each other, in one transaction.
func (c copyTarget) insert(ctx context.Context, t copiedTable, values []any) error {
	return c.inTx(ctx, func(ctx context.Context, tx Tx) error {
		for chunk := range slices.Chunk(values, copyRowsPerInsert*len(t.columns)) {
			if _, err := tx.ExecContext(ctx, c.Rebind(t.insertSQL(len(chunk)/len(t.columns))), chunk...); err != nil {
				return err
			}
		}
		return nil
	})
}

// clear deletes all rows, those that refer to others first.
func (c copyTarget) clear(ctx context.Context) error {
	for _, t := range slices.Backward(copiedTables) {
		for deleted := int64(copyBatchSize); deleted == copyBatchSize; {
			err := c.inTx(ctx, func(ctx context.Context, tx Tx) error {
				result, err := tx.ExecContext(ctx, t.deleteSQL(copyBatchSize))
				if err == nil {
					deleted, err = result.RowsAffected()
				}
				return err
			})
			if err != nil {
				return fmt.Errorf("table %s: %w", t.name, err)
			}
		}
	}
	return nil
}

// inTx calls fn in a transaction, which the end of ctx does not interrupt.
func (c copyTarget) inTx(ctx context.Context, fn func(context.Context, Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	tx, err := c.Begin(ctx)
	if err != nil {
		return err
	}
	if err := fn(ctx, tx); err != nil {
		_ = tx.Rollback() // err is the cause
		return err
	}
	return tx.Commit(Changes{Added: true, Changed: true, Keys: true})
}
