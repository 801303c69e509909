//go:build cgo

package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"example.com/petstore/repository/sqlite"
)

// SQLite is written in C, so a petstore that is built without cgo has only the other engines.
func init() { engines["sqlite"] = sqlite.New }

// sqliteCommands returns the commands for SQLite stores.
func sqliteCommands(in *invocation) []*cobra.Command {
	return []*cobra.Command{newBackup(in), newRestore(in)}
}

// sqlitePath returns the path of the store, or an error if the store is not a file.
func (in *invocation) sqlitePath() (string, error) {
	settings, err := in.loadConfig()
	if err == nil && settings.Database.Driver != "sqlite" {
		err = errors.New("backup and restore are for SQLite stores: use pg_dump and pg_restore for this one")
	}
	return settings.Database.DSN, err
}
