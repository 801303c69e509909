package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/repository/engine"
)

// versions are the numbers in the table versions, which has one row.
type versions struct{ added, changed, keys int64 }

// plus returns the numbers after a commit with changes.
func (v versions) plus(c engine.Changes) versions {
	increment := map[bool]int64{true: 1}
	return versions{v.added + increment[c.Added], v.changed + increment[c.Changed], v.keys + increment[c.Keys]}
}

const selectVersions = "SELECT added, changed, keys FROM versions"

// scan reads the result of selectVersions.
func (v *versions) scan(row pgx.Row) error {
	err := row.Scan(&v.added, &v.changed, &v.keys)
	if errors.Is(err, pgx.ErrNoRows) {
		return errors.New("the table versions of the store has no row")
	}
	return err
}

// observed are the numbers that PollChanges has read, and the connection on which it read them.
type observed struct {
	versions versions
	conn     *pgconn.PgConn
}

// changesTo returns the changes between two observations. If later has another connection, it returns AllChanges: after a
// failover that lost commits, other commits may have led to the same numbers.
func (o observed) changesTo(later observed) engine.Changes {
	if o.conn != later.conn {
		return engine.AllChanges
	}
	before, after := o.versions, later.versions
	return engine.Changes{Added: after.added != before.added, Changed: after.changed != before.changed, Keys: after.keys != before.keys}
}

// PollInterval implements engine.Database.
func (*database) PollInterval() time.Duration { return 0 }

// PollChanges implements engine.Database, on a connection of its own. As in ReadContext, it continues when the client
// disconnects.
func (d *database) PollChanges(ctx context.Context) (changes engine.Changes, err error) {
	ctx, end := d.ReadContext(ctx)
	defer end()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	current, err := d.observe(ctx)
	if isLost(err) {
		current, err = d.observe(ctx)
	}
	if err != nil {
		return changes, err
	}
	if current.conn != d.observed.conn { // before a cache reads again, so that it uses a new connection
		d.epoch.Add(1)
	}
	changes = d.observed.changesTo(current)
	d.observed = current
	return changes, nil
}

func (d *database) observe(ctx context.Context) (current observed, err error) {
	conn, err := d.checker.Conn(ctx)
	if err != nil {
		return current, err
	}
	err = conn.Raw(func(driverConn any) error {
		pgxConn := pgxConnOf(driverConn)
		current.conn = pgxConn.PgConn()
		return current.versions.scan(pgxConn.QueryRow(ctx, selectVersions)) // pgx prepares it once on each connection
	})
	if err != nil {
		discard(conn)
		return current, err
	}
	return current, conn.Close()
}
