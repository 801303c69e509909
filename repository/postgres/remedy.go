package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/repository/engine"
)

// withRemedy returns an error of open as one line with the cause and the remedy.
func withRemedy(err error) error {
	for _, known := range []error{errReadOnly, errNotSynchronous, errPooled, errCopying, engine.ErrInUse} {
		if errors.Is(err, known) {
			return known
		}
	}
	cause := strings.Join(strings.Fields(err.Error()), " ")
	if failure, ok := errors.AsType[*pgconn.PgError](err); ok {
		cause = failure.Message
		if remedy, known := remedies[failure.Code]; known {
			return errors.New(cause + ": " + remedy)
		}
	}
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("the server did not respond in time: check host and port of the DSN, or set connect_timeout in it")
	case isConnectionError(err):
		return errors.New("cannot connect: " + cause + ": start the server, or correct the DSN")
	}
	return errors.New(cause)
}

// remedies are for errors of the server, by SQLSTATE.
var remedies = map[string]string{
	"28000": "correct the DSN, or pg_hba.conf of the server",
	"28P01": "correct user and password of the DSN",
	"3D000": "create the database with CREATE DATABASE, or correct the DSN",
	"42501": "use the owner of the schema and its tables (for a service: run petstore migrate up as the owner, set database.migrate to false, and grant the user SELECT, INSERT, UPDATE and DELETE on all tables)",
	"42P01": "the store is incomplete, restore a backup",
	"53300": "raise max_connections of the server, or reduce database.max_open_conns",
	"55P03": "another process holds a lock, try again when it has ended",
	"57P03": "try again when the server has started",
}
