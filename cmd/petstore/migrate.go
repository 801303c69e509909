package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"example.com/petstore/repository"
)

func newMigrate(in *invocation) *cobra.Command {
	return withSubcommands(
		&cobra.Command{
			Use: "migrate", Short: "Run database migrations",
			Example: "  petstore migrate up",
		},
		&cobra.Command{
			Use:     "up",
			Short:   "Run the pending database migrations; create the store if it does not exist",
			Example: "  petstore migrate up --set database.dsn=/var/lib/petstore/shop.db",
			Args:    noArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				in.assignments = append(in.assignments, "database.migrate=true")
				return in.withStore(cmd.Context(), repository.Options{}, func(*repository.Store) error { return nil })
			},
		},
		&cobra.Command{
			Use:     "status",
			Short:   "Check that the database schema is up to date; fail if it is not",
			Example: "  petstore migrate status",
			Args:    noArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				in.assignments = append(in.assignments, "database.migrate=false")
				return in.withStore(cmd.Context(), mustExist, func(*repository.Store) error {
					_, err := fmt.Fprintln(in.stdout, "the schema is up to date")
					return err
				})
			},
		},
	)
}
