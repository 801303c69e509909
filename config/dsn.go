package config

import "errors"

var errDSN = errors.New("must be the connection string of a PostgreSQL database, such as postgres://user@host:5432/database, or the path of a SQLite file, such as petstore.db")

// DatabaseOf returns the driver of a DSN, which follows from its form, with the DSN. Its error
// does not contain the DSN, which may have a password.
func DatabaseOf(dsn string) (Database, error) {
	switch {
	case postgresDSN.MatchString(dsn):
		return Database{Driver: "postgres", DSN: dsn}, nil
	case notAPath.MatchString(dsn):
		return Database{}, errDSN
	}
	return Database{Driver: "sqlite", DSN: dsn}, nil
}
