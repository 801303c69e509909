package main

import (
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"example.com/petstore/config"
)

// An invocation is the environment of one run of the program and its global flags.
type invocation struct {
	stdout      contextWriter
	stderr      io.Writer
	forceExit   func()   // makes run return without waiting for the command
	configFile  string   // --config
	assignments []string // --set, each KEY=VALUE
}

// searchPaths are where a file of settings is looked for.
var searchPaths = []string{"petstore.yaml", "/etc/petstore/petstore.yaml"}

// sqliteCommands are the commands for SQLite stores, which sqlite.go adds.
var sqliteCommands []func(*invocation) *cobra.Command

// newRoot returns the petstore command with its subcommands. It calls onValid before a
// command runs, when the command line is valid.
func newRoot(in *invocation, onValid func()) *cobra.Command {
	root := withSubcommands(&cobra.Command{
		Use:   "petstore",
		Short: "Serve the catalogue of an animal store over HTTP",
		Long: `Serve the catalogue of an animal store over HTTP, and manage its store.

Exit status: 0 on success, 1 after an error or an interruption, 2 if the command line or
the configuration is invalid. Errors are written to standard error, each problem of the
configuration on its own line. SIGINT, SIGTERM and SIGHUP stop a command gracefully, a
second signal stops it immediately.

Every command reads its settings from the file of --config, else of PETSTORE_CONFIG, else
from petstore.yaml in the working directory, else from /etc/petstore/petstore.yaml.
Environment variables override the file, and --set overrides both: PETSTORE_LOG_LEVEL is
log.level, as petstore config lists it.`,
		Example: `  petstore serve --first-key           # serve, and print a first API key
  petstore keys create --name till-1   # create another API key
  petstore serve --config shop.yaml --set server.address=:8080`,
		Version:       versionText(),
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmd.ValidateRequiredFlags(); err != nil { // cobra would check them after this function
				return err
			}
			if err := in.checkAssignments(); err != nil {
				return err
			}
			onValid()
			return nil
		},
	}, newServe(in), newKeys(in), newMigrate(in), newSeed(in), newExport(in), newImport(in), newCopy(in), newConfig(in), newVersion(in))
	for _, newCommand := range sqliteCommands {
		root.AddCommand(newCommand(in))
	}
	root.SetFlagErrorFunc(flagError)
	root.SetVersionTemplate("petstore {{.Version}}\n")
	flags := root.PersistentFlags()
	flags.Func("config", "read settings from the YAML, TOML or JSON `FILE`", notEmpty(&in.configFile))
	flags.StringArrayVar(&in.assignments, "set", nil, "set one setting as `KEY=VALUE`, overriding the file and the environment")
	_ = root.RegisterFlagCompletionFunc("set", completeSet) // fails only for an unknown flag
	return root
}

// notEmpty returns the function that sets target to the value of a flag. An empty value, such
// as that of a variable that is not set, is an error.
func notEmpty(target *string) func(string) error {
	return func(value string) error {
		if value == "" {
			return errors.New("must not be empty")
		}
		*target = value
		return nil
	}
}

// completeSet completes --set with the keys of the settings.
func completeSet(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	keys := config.Keys()
	for i := range keys {
		keys[i] += "="
	}
	return keys, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// checkAssignments rejects a --set without "=", which would set an empty value. The error
// does not repeat the argument, which may be a secret.
func (in *invocation) checkAssignments() error {
	for _, assignment := range in.assignments {
		if !strings.Contains(assignment, "=") {
			return errors.New("a --set has no =: write it as KEY=VALUE")
		}
	}
	return nil
}

// loadConfig loads the settings of this invocation.
func (in *invocation) loadConfig() (config.Config, error) { return config.Load(in.configOptions()) }

func (in *invocation) configOptions() config.Options {
	overrides := make(map[string]string, len(in.assignments))
	for _, assignment := range in.assignments {
		key, value, _ := strings.Cut(assignment, "=")
		overrides[key] = value
	}
	return config.Options{File: in.configFile, SearchPaths: searchPaths, Overrides: overrides}
}
