package config

import (
	"errors"
	"regexp"
)

var (
	errDSN = errors.New("must be the connection string of a PostgreSQL database, such as postgres://user@host:5432/database, or the path of a SQLite file, such as petstore.db")

	// dsn matches a URL, user:password@host, and common keywords of libpq.
	dsn         = regexp.MustCompile(`://|:[^/]*@|(?i)(^|\s)(host|hostaddr|port|user|dbname|service|sslmode)\s*=|password\s*=`)
	postgresDSN = regexp.MustCompile(`^(postgres(ql)?://|\s*[a-z_]+\s*=)`)
	notAPath    = regexp.MustCompile(`^\s*$|^:memory:|^file:|[?\x00]`)
)

// DatabaseOf returns the driver of a DSN, which follows from its form, with the DSN. Its error
// does not contain the DSN, which may have a password.
func DatabaseOf(dsn string) (Database, error) {
	switch {
	case isPath(dsn):
		return Database{Driver: "sqlite", DSN: dsn}, nil
	case postgresDSN.MatchString(dsn):
		return Database{Driver: "postgres", DSN: dsn}, nil
	}
	return Database{}, errDSN
}

// isPath reports whether the DSN of a SQLite store is the path of a file.
func isPath(text string) bool { return !notAPath.MatchString(text) && !LooksLikeDSN(text) }

// LooksLikeDSN reports whether text, which should be the path of a file, looks like the connection string of a PostgreSQL
// database instead, which an error must not contain, because it may have a password.
func LooksLikeDSN(text string) bool { return dsn.MatchString(text) }
