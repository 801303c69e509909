//go:build cgo

package cli

import (
	"errors"

	"example.com/petstore/repository/sqlite"
)

// SQLite is written in C, so a petstore that is built without cgo has only the other engines.
func init() {
	engines["sqlite"] = sqlite.New
	sqliteCommands = append(sqliteCommands, newBackup, newRestore)
}

// sqlitePath returns the path of the store, or an error if the store is not a file.
func (in *invocation) sqlitePath() (string, error) {
	settings, err := in.loadConfig()
	if err == nil && settings.Database.Driver != "sqlite" {
		err = errors.New("backup and restore are for SQLite stores: use pg_dump and pg_restore for this one")
	}
	return settings.Database.DSN, err
}
