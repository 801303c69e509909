package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"example.com/petstore/config"
)

func newConfig(in *invocation) *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the effective settings and the source of each",
		Long: `Print the effective settings and the source of each: the default, a file, an environment
variable or the command line. Secrets are hidden.

The first line, config, is the path of the settings file, empty if there is no file. Its
source is the command line, PETSTORE_CONFIG, or default for a path that is always looked for.

With --output json it prints an array of objects with the members setting, value and source.
All are texts; the value is written as in the environment. The first object is config.`,
		Example: `  petstore config
  PETSTORE_LOG_LEVEL=debug petstore config --config shop.yaml`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			options := in.configOptions()
			file, source := options.Find()
			if config.LooksLikeDSN(file) {
				file = "(hidden)"
			}
			values, err := config.Explain(options)
			list := append([]config.Value{{Key: "config", Text: file, Source: source}}, values...)
			return errors.Join(err, output.write(in.Stdout, list, func(table io.Writer) {
				fmt.Fprintln(table, "SETTING\tVALUE\tSOURCE")
				for _, s := range list {
					fmt.Fprintf(table, "%s\t%s\t%s\n", s.Key, cmp.Or(s.Text, `""`), s.Source)
				}
			}))
		},
	}
	output.add(cmd)
	return cmd
}
