package main

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"example.com/petstore/config"
)

func newConfig(in *invocation) *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Print the effective settings and the source of each",
		Long: `Print the effective settings and the source of each: the default, a line of the file, an
environment variable or the command line. Secrets are hidden.`,
		Example: `  petstore config
  PETSTORE_LOG_LEVEL=debug petstore config --config shop.yaml`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			values, err := config.Explain(in.configOptions())
			table := tabwriter.NewWriter(in.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "SETTING\tVALUE\tSOURCE")
			for _, value := range values {
				fmt.Fprintf(table, "%s\t%s\t%s\n", value.Key, value.Text, value.Source)
			}
			return errors.Join(err, table.Flush())
		},
	}
}
