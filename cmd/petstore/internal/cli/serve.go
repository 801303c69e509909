package cli

import (
	"context"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"example.com/petstore"
	"example.com/petstore/cmd/petstore/internal/serve"
	"example.com/petstore/cmd/petstore/internal/telemetry"
)

func newServe(in *invocation) *cobra.Command {
	var firstKey bool
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the API until a signal stops the process",
		Long: `Serve the API until SIGTERM or SIGINT stops the process. No signal reloads the settings:
restart the process. A changed TLS certificate is loaded without a restart. SIGHUP is
ignored, unless the log is written to a terminal, which has been closed then.

A SQLite file has one service: serve waits up to 30 s for another one to stop. Commands can
use the file meanwhile. Several services need PostgreSQL (database.driver: postgres).

During shutdown /readyz returns 503. For server.shutdown_delay new requests are still
accepted, then running requests finish. The process exits within server.shutdown_delay
plus server.shutdown_timeout: with 0, or with 1 if something failed or was interrupted. A
second signal stops it immediately.

The log is written to standard error. Requests do not wait for it: lines that cannot be
written in time are dropped, and counted in petstore_log_dropped_lines_total.`,
		Example: "  petstore serve --first-key\n  petstore serve --config shop.yaml",
		Args:    noArgs,
		PreRunE: func(cmd *cobra.Command, args []string) error {
			if !firstKey {
				return nil
			}
			return in.checkKeyOutput(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return in.serve(cmd.Context(), firstKey) },
	}
	cmd.Flags().BoolVar(&firstKey, "first-key", false, "create an API key if the store has none, and print it")
	return cmd
}

// serve loads the settings and runs the service until ctx ends. If firstKey is true, it creates and prints an API key
// if the store has never had one.
func (in *invocation) serve(ctx context.Context, firstKey bool) error {
	settings, err := in.loadConfig()
	if err != nil {
		return err
	}
	if !isTerminal(in.Stderr) { // the rotation of a log file sends SIGHUP
		signal.Ignore(syscall.SIGHUP)
	}
	e := newEngine(settings.Database)
	version, commit := in.buildVersion()
	options := serve.Options{
		Program: in.command(), Version: version, Commit: commit, FirstKey: firstKey, Stdout: in.Stdout, Stderr: in.Stderr,
		Fields: []zap.Field{zap.String("store", storeName(settings.Database, e))},
		Open: func(ctx context.Context, o petstore.Options) (*petstore.Service, error) {
			return interruptible(ctx, func() (*petstore.Service, error) { return petstore.New(ctx, e, o) })
		},
	}
	if settings.Database.Driver == "sqlite" {
		options.StoreFile = telemetry.StoreFile(settings.Database.DSN)
	}
	if file, _ := in.configOptions().Find(); file != "" {
		options.Fields = append(options.Fields, zap.String("settings_file", absolutePath(file)))
	}
	return serve.Run(ctx, settings, options)
}
