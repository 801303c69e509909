package postgres

import (
	"context"
	"errors"
)

var (
	errNotSynchronous = errors.New("a commit does not wait for a standby, and can be lost in a failover: set synchronous_standby_names of the server")
	errNoStandby      = errors.New("no synchronous standby is connected, so each commit waits for one: start it")
)

// Check implements repository.Database. The server does not acknowledge a commit that it
// could lose itself. While no standby is connected a commit waits, and is not lost either.
func (d *database) Check(ctx context.Context) error {
	if !d.requireSynchronous {
		return nil
	}
	if err := d.CheckSynchronous(ctx); !errors.Is(err, errNoStandby) {
		return err
	}
	return nil
}

// CheckSynchronous implements repository.Database. synchronous_commit is at least on, see
// checkServer. pg_stat_replication has its values only for a user with the privileges of
// pg_read_all_stats.
func (d *database) CheckSynchronous(ctx context.Context) error {
	rows, err := d.readers.QueryContext(ctx, `SELECT current_setting('synchronous_standby_names') <> '',
		NOT pg_has_role('pg_read_all_stats', 'USAGE') OR EXISTS (SELECT FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum'))`)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err has the error
	var waits, connected bool
	if rows.Next() {
		err = rows.Scan(&waits, &connected)
	}
	switch err = errors.Join(err, rows.Err()); {
	case err != nil:
		return err
	case !waits:
		return errNotSynchronous
	case !connected:
		return errNoStandby
	}
	return nil
}
