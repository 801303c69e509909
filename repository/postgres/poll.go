package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/internal/engine"
)

// polled is what Poll has read, and the connection on which it read it.
type polled struct {
	state engine.State
	conn  *pgconn.PgConn
}

// Poll implements engine.Database, on a connection of its own. If that is another connection than the last time, it reports
// true: after a failover that lost commits, other commits may have led to the same numbers.
func (d *database) Poll(ctx context.Context) (engine.State, bool, error) {
	latest, err := d.poll(ctx)
	if isLost(err) || isOutdated(err) {
		latest, err = d.poll(ctx)
	}
	if err != nil {
		return engine.State{}, false, err
	}
	reconnected := latest.conn != d.polled.conn
	if reconnected { // before a cache reads again, so that it uses a new connection
		d.epoch.Add(1)
	}
	d.polled = latest
	return latest.state, reconnected, latest.state.CheckSchema()
}

const pollState = "SELECT position, altered, min_schema_version FROM store"

func (d *database) poll(ctx context.Context) (latest polled, err error) {
	conn, err := d.checker.Conn(ctx)
	if err != nil {
		return latest, err
	}
	err = conn.Raw(func(driverConn any) error {
		pgxConn := pgxConnOf(driverConn)
		latest.conn = pgxConn.PgConn()
		row := pgxConn.QueryRow(ctx, pollState) // pgx prepares it once on each connection
		return row.Scan(&latest.state.Position, &latest.state.Altered, &latest.state.MinSchemaVersion)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		err = errors.New("the table store has no row")
	}
	if err != nil {
		discard(conn)
		return latest, err
	}
	return latest, conn.Close()
}
