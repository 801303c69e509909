// Package cli is the command line of petstore. It has a file for each command, and files for what several commands
// share.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"example.com/petstore/config"
	"example.com/petstore/domain"
)

// A Program is the running program: its command line, its output and its build.
type Program struct {
	Name            string   // the name by which it was called, for hints
	Args            []string // without the name
	SearchPaths     []string // the settings files to try if the user names none
	Stdout, Stderr  io.Writer
	Version, Commit string // values that the linker has set, or empty
}

// An invocation is one run of a Program, with its global flags.
type invocation struct {
	Program
	configFile  string   // --config
	assignments []string // --set, each KEY=VALUE
	valid       bool     // whether the command line is valid
}

// Run executes the command line and returns the exit status.
func Run(ctx context.Context, p Program) int {
	in := &invocation{Program: p}
	root := newRoot(in)
	root.SetArgs(p.Args)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	err := checkNoDSN(p.Args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	if err == nil {
		return 0
	}
	_, invalid := errors.AsType[*config.InvalidError](err)
	if write, ok := errors.AsType[*fs.PathError](err); ok && !invalid && write.Path == os.Stdout.Name() && errors.Is(write, syscall.EPIPE) {
		return 1 // no message, like a program that SIGPIPE kills
	}
	in.report("%v", err)
	if invalid || !in.valid {
		return 2
	}
	return 1
}

// newRoot returns the petstore command with its subcommands.
func newRoot(in *invocation) *cobra.Command {
	root := withSubcommands(&cobra.Command{
		Use:   "petstore",
		Short: "Serve the catalogue of an animal store over HTTP",
		Long: `Serve the catalogue of an animal store over HTTP, and manage its store.

Exit status: 0 on success, 1 after an error or an interruption, 2 if the command line or
the configuration is invalid. Errors are written to standard error, each problem of the
configuration on its own line. SIGINT, SIGTERM and, except for serve, SIGHUP stop a command
gracefully, a second signal stops it immediately.

Every command reads its settings from the file of --config, else of PETSTORE_CONFIG, else
from petstore.yaml in the working directory, else from /etc/petstore/petstore.yaml.
Environment variables override the file, and --set overrides both. The variable for log.level
is PETSTORE_LOG_LEVEL, and so on; petstore config lists all settings.`,
		Example: `  petstore serve --first-key           # serve, and print a first API key
  petstore keys create --name till-1   # create another API key
  petstore serve --config shop.yaml --set server.address=:8080`,
		Version:       in.versionText(),
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmd.ValidateRequiredFlags(); err != nil { // cobra would check them after this function
				return err
			}
			for _, assignment := range in.assignments { // the error does not repeat the assignment, which may be a secret
				if !strings.Contains(assignment, "=") {
					return errors.New("a --set has no =: write it as KEY=VALUE")
				}
			}
			in.valid = true
			cmd.SetContext(domain.WithCaller(cmd.Context(), "command:"+cmd.Name()))
			return nil
		},
	}, newServe(in), newHealthcheck(in), newKeys(in), newMigrate(in), newSeed(in), newExport(in), newImport(in), newCopy(in), newCheck(in),
		newConfig(in), newVersion(in))
	root.AddCommand(sqliteCommands(in)...)
	root.SetFlagErrorFunc(flagError)
	root.SetVersionTemplate("petstore {{.Version}}\n")
	flags := root.PersistentFlags()
	flags.Func("config", "read settings from the YAML, TOML or JSON `FILE`", notEmpty(&in.configFile))
	flags.StringArrayVar(&in.assignments, "set", nil, "set one setting as `KEY=VALUE`, overriding the file and the environment")
	_ = root.RegisterFlagCompletionFunc("set", completeSet) // fails only for an unknown flag
	return root
}

// completeSet completes --set with the keys of the settings.
func completeSet(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	keys := config.Keys()
	for i := range keys {
		keys[i] += "="
	}
	return keys, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// loadConfig loads the settings, with --config and --set of this invocation. Its error is a *config.InvalidError.
func (in *invocation) loadConfig() (config.Config, error) { return config.Load(in.configOptions()) }

func (in *invocation) configOptions() config.Options {
	overrides := make(map[string]string, len(in.assignments))
	for _, assignment := range in.assignments {
		key, value, _ := strings.Cut(assignment, "=")
		overrides[key] = value
	}
	return config.Options{File: in.configFile, SearchPaths: in.SearchPaths, Overrides: overrides}
}

// withSubcommands adds subcommands to a parent command, which does nothing itself. Without a subcommand, the parent
// prints its help. For an unknown subcommand it returns an error that suggests similar names.
func withSubcommands(parent *cobra.Command, subcommands ...*cobra.Command) *cobra.Command {
	parent.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return unknownCommand(cmd, args[0])
	}
	parent.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	parent.SuggestionsMinimumDistance = 2
	parent.AddCommand(subcommands...)
	return parent
}

func unknownCommand(parent *cobra.Command, name string) error {
	text := fmt.Sprintf("unknown command %q for %q", name, parent.CommandPath())
	if names := parent.SuggestionsFor(name); len(names) > 0 {
		text += "; did you mean " + strings.Join(names, " or ") + "?"
	}
	return errors.New(text)
}

// checkNoDSN returns an error if the command line has a connection string where no flag expects one. It runs before all
// other checks, because their errors would repeat the connection string, which may have a password.
func checkNoDSN(args []string) error {
	flag := ""
	for _, arg := range args {
		if name, _, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(name, "--") {
			flag = name
		}
		if config.LooksLikeDSN(arg) && !slices.Contains([]string{"--set", "--from", "--to", "--name"}, flag) {
			place := ""
			if strings.HasPrefix(flag, "--") && !config.LooksLikeDSN(flag) {
				place = flag + ": "
			}
			return errors.New(place + "the command line has what looks like a connection string in the wrong place: " +
				"set database.dsn to it, or name another file")
		}
		flag = arg
	}
	return nil
}

// noArgs is a cobra.PositionalArgs that accepts no argument. Its error does not repeat the argument, which may be a
// secret by mistake.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments", cmd.CommandPath())
	}
	return nil
}

// oneArg returns a cobra.PositionalArgs that requires one argument. missing is the error if there is none, such as "name
// the FILE to import". No error repeats an argument, which may be a secret by mistake.
func oneArg(missing string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New(missing)
		}
		return atMostOneArg(cmd, args)
	}
}

// atMostOneArg is a cobra.PositionalArgs that accepts one argument or none.
func atMostOneArg(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s accepts one argument, not %d: quote one that contains spaces", cmd.CommandPath(), len(args))
	}
	return nil
}

// notEmpty returns a function that sets target to the value of a flag. The function returns an error for an empty value,
// such as a shell variable that is not set.
func notEmpty(target *string) func(string) error {
	return func(value string) error {
		if value == "" {
			return errors.New("must not be empty")
		}
		*target = value
		return nil
	}
}

// flagError returns err, which is the error for a flag that a command does not accept. But if a mistyped subcommand
// precedes the flag, it returns the error for the subcommand: cobra blames the flag, because the parent command does
// not know it.
func flagError(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 {
		return unknownCommand(cmd, args[0])
	}
	return err
}
