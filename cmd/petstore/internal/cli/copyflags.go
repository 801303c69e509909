package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"example.com/petstore/config"
	"example.com/petstore/repository/engine"
)

// dsnFlags are the flags for the DSN of a store, or for a file with it.
type dsnFlags struct{ name, dsn, file string }

// add adds the flags --name and --name-file.
func (f *dsnFlags) add(cmd *cobra.Command, name, usage string) {
	f.name = name
	cmd.Flags().Func(name, usage+" the store `DSN` (default: the store of the settings)", notEmpty(&f.dsn))
	cmd.Flags().Func(name+"-file", usage+" the store whose DSN is in `FILE`", notEmpty(&f.file))
}

// isSet reports whether one of the flags is set.
func (f *dsnFlags) isSet() bool { return f.dsn != "" || f.file != "" }

// check checks the flags without reading the file.
func (f *dsnFlags) check() error {
	if f.dsn != "" && f.file != "" {
		return fmt.Errorf("add either --%s or --%s-file", f.name, f.name)
	}
	if f.dsn == "" {
		return nil
	}
	_, err := f.parse(f.dsn)
	return err
}

func (f *dsnFlags) parse(dsn string) (config.Database, error) {
	database, err := config.DatabaseOf(dsn)
	if err != nil {
		err = fmt.Errorf("the DSN of --%s %w", f.name, err)
	}
	return database, err
}

// engine returns the engine of the store, by default of the one of the settings.
func (f *dsnFlags) engine(in *invocation) (engine.Engine, error) {
	database, err := f.database(in)
	if err != nil {
		return nil, err
	}
	if database.Driver == "sqlite" {
		database.DSN = absolutePath(database.DSN) // which identifies the source of an unfinished copy
	}
	return newEngine(database)
}

func (f *dsnFlags) database(in *invocation) (config.Database, error) {
	if !f.isSet() {
		settings, err := in.loadConfig()
		return settings.Database, err
	}
	dsn := f.dsn
	if f.file != "" {
		text, err := os.ReadFile(f.file)
		if err != nil && config.LooksLikeDSN(f.file) {
			err = fmt.Errorf("the file of --%s-file cannot be read: %w", f.name, errors.Unwrap(err))
		}
		if err != nil {
			return config.Database{}, err
		}
		dsn = strings.TrimRight(string(text), "\r\n")
		if database, err := f.parse(dsn); err != nil || database.Driver != "postgres" { // a path would be shown in errors, and this may be a secret
			return database, fmt.Errorf("the file of --%s-file has no connection string of PostgreSQL: write postgres://… to it, or name a SQLite file with --%s", f.name, f.name)
		}
	}
	return f.parse(dsn)
}

var errNoStore = errors.New("add --from or --to: the other store is that of the settings")
