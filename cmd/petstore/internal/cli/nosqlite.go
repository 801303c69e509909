//go:build !cgo || !unix

package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

// sqliteCommands returns the commands for SQLite stores. In this build they only return an error that says how to get
// SQLite.
func sqliteCommands(*invocation) (commands []*cobra.Command) {
	for _, name := range []string{"backup", "restore"} {
		commands = append(commands, &cobra.Command{
			Use: name, Short: "Needs a petstore that was built with SQLite", Hidden: true,
			Args: cobra.ArbitraryArgs, FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
			RunE: func(*cobra.Command, []string) error {
				return errors.New(name + " is for SQLite stores, but this petstore was built without sqlite, which needs cgo and Unix: " +
					"use one that was built with a C compiler and CGO_ENABLED=1, or pg_dump and pg_restore for a PostgreSQL store")
			},
		})
	}
	return commands
}
