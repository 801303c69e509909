package repository

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// copyBatchSize is the number of rows in a transaction (docs/performance.md).
const copyBatchSize = 5000

var errSourceChanged = errors.New("the source has changed")

// A copying is a call of Copy after it has opened both stores.
type copying struct {
	source   Database
	snapshot *sql.Tx // of source
	target   copyTarget
	progress func(units string, total int) (add func(n int))
	result   *CopyResult
}

// run copies all rows, compares the tables and finishes the target.
func (c *copying) run(ctx context.Context) error {
	for _, t := range copiedTables {
		var rows int64
		if err := c.snapshot.QueryRowContext(ctx, "SELECT count(*) FROM "+t.name).Scan(&rows); err != nil {
			return err
		}
		c.result.Rows += rows
	}
	digests, err := c.copyTables(ctx)
	if errors.Is(err, errSourceChanged) {
		c.result.Copied, c.result.Earlier, c.result.Restarted = 0, 0, true
		if err := c.target.clear(ctx); err != nil {
			return err
		}
		digests, err = c.copyTables(ctx)
	}
	if err != nil {
		return err
	}
	if err := c.compare(ctx, digests); err != nil {
		return err
	}
	return c.finish(ctx)
}

// copyTables copies all tables and returns their digests.
func (c *copying) copyTables(ctx context.Context) ([]*digest, error) {
	add := c.progress("rows", int(c.result.Rows))
	digests := make([]*digest, len(copiedTables))
	for i, t := range copiedTables {
		var err error
		if digests[i], err = c.copyTable(ctx, t, add); err != nil {
			return nil, fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	return digests, nil
}

// copyTable copies the rows after those that the target has, and returns the digest of all.
// It returns errSourceChanged if those of the target are not the first ones of the source.
func (c *copying) copyTable(ctx context.Context, t copiedTable, add func(n int)) (*digest, error) {
	earlier, err := t.digest(ctx, c.target.Readers(), allRows, func(int) {})
	if err != nil {
		return nil, err
	}
	read, err := t.digest(ctx, c.snapshot, earlier.rows, add)
	if err != nil {
		return nil, err
	}
	if !read.equal(earlier) {
		return nil, errSourceChanged
	}
	c.result.Copied += earlier.rows
	c.result.Earlier += earlier.rows
	batch := make([]any, 0, copyBatchSize*len(t.columns))
	store := func() error {
		if err := c.target.insert(ctx, t, batch); err != nil {
			return err
		}
		rows := len(batch) / len(t.columns)
		c.result.Copied += int64(rows)
		add(rows)
		batch = batch[:0]
		return nil
	}
	err = t.each(ctx, c.snapshot, earlier.rows, allRows, func(values []any) error {
		if batch = append(batch, values...); len(batch) == cap(batch) {
			if err := store(); err != nil {
				return err
			}
		}
		return read.add(values)
	})
	if err == nil && len(batch) > 0 {
		err = store()
	}
	return read, err
}

// compare compares the tables of the target with the digests of those of the source.
func (c *copying) compare(ctx context.Context, digests []*digest) error {
	add := c.progress("rows compared", int(c.result.Rows))
	for i, t := range copiedTables {
		copied, err := t.digest(ctx, c.target.Readers(), allRows, add)
		if err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
		if !copied.equal(digests[i]) {
			return fmt.Errorf("table %s: the target has %d rows with the SHA-256 %x, the source %d with %x",
				t.name, copied.rows, copied.sum(), digests[i].rows, digests[i].sum())
		}
		c.result.Tables = append(c.result.Tables, CopiedTable{t.name, copied.rows, copied.sum()})
	}
	return nil
}

// finish makes new ids continue after those of the source, and Open accept the target.
func (c *copying) finish(ctx context.Context) error {
	return c.target.inTx(ctx, func(ctx context.Context, tx Tx) error {
		for _, t := range copiedTables {
			if !t.hasIDs {
				continue
			}
			id, err := c.source.LastID(ctx, c.snapshot, t.name)
			if err == nil {
				err = c.target.SetLastID(ctx, tx, t.name, id)
			}
			if err != nil {
				return fmt.Errorf("table %s: %w", t.name, err)
			}
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM unfinished_copy")
		return err
	})
}
