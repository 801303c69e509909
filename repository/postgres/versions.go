package postgres

import (
	"context"
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/repository"
)

// versions are the numbers of the row of versions.
type versions struct{ added, changed, keys int64 }

// plus returns the numbers after a commit with changes.
func (v versions) plus(c repository.Changes) versions {
	increment := map[bool]int64{true: 1}
	return versions{v.added + increment[c.Added], v.changed + increment[c.Changed], v.keys + increment[c.Keys]}
}

// since returns the changes of the commits after those of earlier.
func (v versions) since(earlier versions) repository.Changes {
	return repository.Changes{Added: v.added != earlier.added, Changed: v.changed != earlier.changed, Keys: v.keys != earlier.keys}
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

// observed are the numbers that were last read, and the connection that read them. The
// numbers of another connection are not compared with them: after a failover that lost
// commits, different commits may have the same numbers.
type observed struct {
	versions versions
	conn     *pgconn.PgConn
}

// ChangedByOthers implements repository.Database.
func (d *database) ChangedByOthers(ctx context.Context) (repository.Changes, error) {
	current, err := d.observe(ctx)
	if err != nil {
		return repository.Changes{}, err
	}
	changes := current.versions.since(d.observed.versions)
	if current.conn != d.observed.conn {
		changes = repository.Changes{Added: true, Changed: true, Keys: true}
	}
	d.observed = current
	return changes, nil
}

// observe reads the row of versions. A transaction has read it when it began.
func (d *database) observe(ctx context.Context) (current observed, err error) {
	if d.tx != nil {
		return observed{d.tx.before, d.tx.pgConn}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, txTimeout)
	defer cancel()
	conn, err := d.writer.Conn(ctx)
	if err != nil {
		return current, err
	}
	err = conn.Raw(func(driverConn any) error {
		current.conn = pgConnOf(driverConn)
		results, err := current.conn.Exec(ctx, "SELECT added, changed, keys FROM versions").ReadAll()
		if err == nil {
			current.versions, err = parseVersions(results[0])
		}
		return err
	})
	if err != nil {
		discard(conn)
		return current, err
	}
	return current, conn.Close()
}
