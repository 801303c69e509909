package cli

import (
	"fmt"
	"io"

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
				return in.withStore(cmd.Context(), mayCreate, func(store *repository.Store) error {
					return in.printResult("the schema is up to date: version %d", store.Schema().Version)
				})
			},
		},
		newMigrateStatus(in),
	)
}

func newMigrateStatus(in *invocation) *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Check that the database schema is up to date; fail if it is not",
		Long: `Check that the database schema is up to date; fail if it is not. With --output json it
prints an object with the member schemaVersion, the number of the latest migration.`,
		Example: "  petstore migrate status\n  petstore migrate status --output json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return in.withStore(cmd.Context(), mustExist, func(store *repository.Store) error {
				status := map[string]int64{"schemaVersion": store.Schema().Version}
				return output.write(in.Stdout, status, func(table io.Writer) { fmt.Fprintln(table, "the schema is up to date") })
			})
		},
	}
	output.add(cmd)
	return cmd
}
