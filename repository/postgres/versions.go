package postgres

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/repository"
)

// versions are the numbers of the row of versions. They never decrease on a server.
type versions struct{ added, changed, keys int64 }

// plus returns the numbers after a commit with changes.
func (v versions) plus(c repository.Changes) versions {
	increment := map[bool]int64{true: 1}
	return versions{v.added + increment[c.Added], v.changed + increment[c.Changed], v.keys + increment[c.Keys]}
}

// since returns the changes of the commits after those of earlier.
func (v versions) since(earlier versions) repository.Changes {
	return repository.Changes{Added: v.added > earlier.added, Changed: v.changed > earlier.changed, Keys: v.keys > earlier.keys}
}

// parseVersions parses the row of versions.
func parseVersions(result *pgconn.Result) (v versions, err error) {
	if len(result.Rows) != 1 {
		return v, errors.New("the table versions of the store has no row")
	}
	var errs [3]error
	for i, number := range []*int64{&v.added, &v.changed, &v.keys} {
		*number, errs[i] = strconv.ParseInt(string(result.Rows[0][i]), 10, 64)
	}
	return v, errors.Join(errs[:]...)
}

// observed are the numbers of which caches know: the greatest that a transaction or the
// connection for ChangedByOthers has read, or a commit of this process has written.
type observed struct {
	mu       sync.Mutex
	versions versions
	conn     *pgconn.PgConn // of ChangedByOthers
}

var allChanged = repository.Changes{Added: true, Changed: true, Keys: true}

// readBy returns the changes between the observed numbers and those that conn has read. The
// numbers of another connection are not compared: after a failover that lost commits, others
// may have the same numbers.
func (o *observed) readBy(conn *pgconn.PgConn, v versions) repository.Changes {
	o.mu.Lock()
	defer o.mu.Unlock()
	if conn != o.conn {
		o.conn, o.versions = conn, v
		return allChanged
	}
	return o.advance(v)
}

// lockedBy returns the changes between the observed numbers and those that a transaction has
// locked, than which none are greater unless they are of a server that lost them.
func (o *observed) lockedBy(v versions) repository.Changes {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.versions.since(v) != (repository.Changes{}) {
		o.versions = v
		return allChanged
	}
	return o.advance(v)
}

// committed records the numbers after a commit of this process, whose changes it knows.
func (o *observed) committed(v versions) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.advance(v)
}

func (o *observed) advance(v versions) repository.Changes {
	changes := v.since(o.versions)
	o.versions = versions{max(v.added, o.versions.added), max(v.changed, o.versions.changed), max(v.keys, o.versions.keys)}
	return changes
}

// Exact implements repository.Database.
func (d *database) Exact() bool { return true }

// ChangedByOthers implements repository.Database, on a connection of its own.
func (d *database) ChangedByOthers(ctx context.Context) (repository.Changes, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	changes, err := d.check(ctx)
	if isLost(err) {
		changes, err = d.check(ctx)
	}
	return changes, err
}

func (d *database) check(ctx context.Context) (changes repository.Changes, err error) {
	conn, err := d.checker.Conn(ctx)
	if err != nil {
		return changes, err
	}
	err = conn.Raw(func(driverConn any) error {
		pgConn := pgConnOf(driverConn)
		results, err := pgConn.Exec(ctx, "SELECT added, changed, keys FROM versions").ReadAll()
		if err != nil {
			return err
		}
		v, err := parseVersions(results[0])
		if err == nil {
			changes = d.observed.readBy(pgConn, v)
		}
		return err
	})
	if err != nil {
		discard(conn)
		return changes, err
	}
	return changes, conn.Close()
}

// ChangedByOthers implements repository.Tx.
func (t *tx) ChangedByOthers(context.Context) (repository.Changes, error) {
	return t.database.observed.lockedBy(t.before), nil
}
