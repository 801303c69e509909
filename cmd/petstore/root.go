package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/config"
	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
)

// An invocation is what all commands of one run share.
type invocation struct {
	environ        []string
	stdout, stderr io.Writer
	abandon        func() // ends the process without waiting for the command
	file           string
	set            []string
}

// newRoot is the command line. started is called once it has been understood.
func newRoot(in *invocation, started func()) *cobra.Command {
	root := newGroup(&cobra.Command{
		Use:   "petstore",
		Short: "The catalogue of an animal store over HTTP",
		Long: `The catalogue of an animal store over HTTP.

It exits with 0 when all went well, 1 when something failed or a signal interrupted it
before it was done, and 2 when the command line or the configuration is wrong. Standard
error says what was wrong, with a line for each problem of the configuration. SIGINT,
SIGTERM and SIGHUP stop a command in an orderly way, a second one at once.`,
		Example: `  petstore serve --first-key           # serve, and print a first API key
  petstore keys create --name till-1   # print another one
  petstore serve --config shop.yaml --set server.address=:8080`,
		Version:       versionText(),
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmd.ValidateRequiredFlags(); err != nil { // cobra would ask after this function
				return err
			}
			if err := in.checkSet(); err != nil {
				return err
			}
			started()
			return nil
		},
	}, newServe(in), newKeys(in), newMigrate(in), newSeed(in), newConfig(in), newVersion(in))
	root.SetFlagErrorFunc(flagError)
	root.SetVersionTemplate("petstore {{.Version}}\n")
	flags := root.PersistentFlags()
	flags.StringVar(&in.file, "config", "", "read settings from the YAML `FILE`")
	flags.StringArrayVar(&in.set, "set", nil, "set one setting, which wins over file and environment: `KEY=VALUE`")
	_ = root.RegisterFlagCompletionFunc("set", completeSet) // the flag above exists
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

// checkSet refuses a --set that sets nothing, which would else make a setting empty. It
// does not repeat it: a secret may stand there.
func (in *invocation) checkSet() error {
	for _, assignment := range in.set {
		if !strings.Contains(assignment, "=") {
			return errors.New("--set must be KEY=VALUE, and one has no =")
		}
	}
	return nil
}

// settings loads the configuration of this invocation.
func (in *invocation) settings() (config.Config, error) { return config.Load(in.sources()) }

// sources is where this invocation has its settings from.
func (in *invocation) sources() config.Options {
	overrides := make(map[string]string, len(in.set))
	for _, assignment := range in.set {
		key, value, _ := strings.Cut(assignment, "=")
		overrides[key] = value
	}
	return config.Options{File: in.file, Environ: in.environ, Overrides: overrides, IsAPIKey: isAPIKey}
}

func isAPIKey(secret string) bool {
	_, ok := domain.HashKey(secret)
	return ok
}

// open opens the store, in the one way that all commands share. The settings join
// the options that a command has of its own. It returns as soon as ctx ends, because
// SQLite goes on to wait for a lock of another process.
func open(ctx context.Context, d config.Database, o repository.Options) (*repository.Store, error) {
	o.Migrate, o.MaxOpenConns = d.Migrate, d.MaxOpenConns
	var store *repository.Store
	opened := make(chan error, 1)
	go func() {
		var err error
		store, err = repository.Open(ctx, sqlite.New(d.DSN), o)
		opened <- err
	}()
	select {
	case err := <-opened:
		if err == nil || ctx.Err() == nil {
			return store, err
		}
	case <-ctx.Done():
	}
	return nil, fmt.Errorf("interrupted while the store was being opened: %w", context.Cause(ctx))
}

// existing are the options of a command that refuses a store that is missing, rather
// than create one for a mistyped path.
var existing = repository.Options{MustExist: true}

// withStore runs work on the store and closes it. It says so when it created the store.
func (in *invocation) withStore(ctx context.Context, o repository.Options, work func(*repository.Store) error) error {
	settings, err := in.settings()
	if err != nil {
		return err
	}
	store, err := open(ctx, settings.Database, o)
	if err != nil {
		return err
	}
	if store.Created() {
		path, _ := filepath.Abs(settings.Database.DSN) // which Open has just found
		fmt.Fprintln(in.stderr, "petstore: created the store", path)
	}
	err = work(store)
	if closing := store.Close(); err == nil {
		err = closing
	}
	return err
}

// clock is the time of every record, in UTC to the millisecond that the store keeps.
func clock() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
