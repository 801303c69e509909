package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"example.com/petstore/repository"
)

func newMigrate(in *invocation) *cobra.Command {
	return newGroup(
		&cobra.Command{
			Use: "migrate", Short: "Look after the schema of the store",
			Example: "  petstore migrate up",
		},
		&cobra.Command{
			Use:     "up",
			Short:   "Create the store, or bring its schema up to date",
			Example: "  petstore migrate up --set database.dsn=/var/lib/petstore/shop.db",
			Args:    cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				in.set = append(in.set, "database.migrate=true")
				return in.withStore(cmd.Context(), repository.Options{}, func(*repository.Store) error { return nil })
			},
		},
		&cobra.Command{
			Use:     "status",
			Short:   "Tell whether the schema is up to date; fail when it is not",
			Example: "  petstore migrate status",
			Args:    cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				in.set = append(in.set, "database.migrate=false")
				return in.withStore(cmd.Context(), existing, func(*repository.Store) error {
					_, err := fmt.Fprintln(in.stdout, "the schema is up to date")
					return err
				})
			},
		},
	)
}
