package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/config"
	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/storecopy"
)

func newCopy(in *invocation) *cobra.Command {
	var from, to dsnFlags
	snapshot := false
	cmd := &cobra.Command{
		Use:   "copy {--from DSN | --to DSN}",
		Short: "Copy the whole store to another one, such as from SQLite to PostgreSQL",
		Long: `Copy all animals, orders, categories, API keys, idempotency keys and the states of imports,
with their ids, from one store to another, which may have another engine. A DSN is the path
of a SQLite file, or the connection string of a PostgreSQL database as a URL or as keywords
with values.
If one of --from and --to is left out, the store of the settings takes its place.

The target is created; it must be empty. Stop the service first: copy returns an error while
a process has the source or the target open. With --snapshot it copies the source as it is
now, also while the service runs; what is written later is not in the target. Tables of other
programs beside those of the source are not copied; copy prints their names.

At the end, copy reads both stores and compares the number of rows and the SHA-256 of each
table. If it fails, is interrupted or killed, the target is an unfinished copy, on which the
service does not start. Run the same command again: it deletes the records of the unfinished
copy and begins anew.

Other users of the machine can see the command line. For a DSN with a password use
--from-file or --to-file, the settings (PETSTORE_DATABASE_DRIVER, PETSTORE_DATABASE_DSN_FILE)
or a password file (PGPASSFILE).`,
		Example: `  petstore copy --from petstore.db --to-file postgres.dsn
  petstore copy --from-file postgres.dsn --to petstore.db
  petstore copy --to trial.db --snapshot   # from the store of the settings`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := noArgs(cmd, args); err != nil {
				return err
			}
			if !from.isSet() && !to.isSet() {
				return errors.New("add --from or --to: the other store is that of the settings")
			}
			return cmp.Or(from.check(), to.check())
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			source, err := from.engine(in)
			if err != nil {
				return err
			}
			target, err := to.engine(in)
			if err != nil {
				return err
			}
			return in.copy(cmd.Context(), source, target, snapshot)
		},
	}
	from.add(cmd, "from", "copy")
	to.add(cmd, "to", "copy to")
	cmd.Flags().BoolVar(&snapshot, "snapshot", false, "copy the source as it is now, also while a process has it open")
	return cmd
}

// copy copies a store. It reports the progress on standard error, and lists the copied tables on standard output.
func (in *invocation) copy(ctx context.Context, from, to engine.Engine, snapshot bool) error {
	if from.String() == to.String() || isSameFile(from.String(), to.String()) {
		return fmt.Errorf("the source and the target are the same store %s: name another one", from)
	}
	start := time.Now()
	bar := &progress{}
	defer func() { bar.stop() }()
	result, err := storecopy.Copy(ctx, from, to, storecopy.Options{
		Snapshot: snapshot,
		Progress: func(units string, total int) func(n int) {
			bar.stop()
			bar = newProgress(in.Stderr, units, total)
			return bar.add
		},
	})
	if err != nil {
		outcome := "nothing was copied"
		if result.Started {
			outcome = "the target is an unfinished copy; run the same command again to begin anew"
		}
		return interruptedOr(ctx, err, outcome)
	}
	rows, tables := int64(0), ""
	for _, table := range result.Tables {
		rows += table.Rows
		tables += fmt.Sprintf("\n%s: %s, SHA-256 %x in both", table.Name, counted(table.Rows, "row"), table.SHA256)
	}
	if result.OtherTables != "" {
		tables += "\nnot copied, because they are of another program: " + result.OtherTables
	}
	return in.printResult("copied %s from %s to %s in %s%s", counted(rows, "row"), from, to, time.Since(start).Round(time.Millisecond), tables)
}

// dsnFlags are the two flags that name a store: by its DSN, or by a file that contains the DSN.
type dsnFlags struct {
	name, dsn, file string
	parsed          config.Database // the parsed dsn
}

// add adds the flags --name and --name-file.
func (f *dsnFlags) add(cmd *cobra.Command, name, usage string) {
	f.name = name
	cmd.Flags().Func(name, usage+" the store `DSN` (default: the store of the settings)", notEmpty(&f.dsn))
	cmd.Flags().Func(name+"-file", usage+" the store whose DSN is in `FILE`", notEmpty(&f.file))
}

// isSet reports whether one of the flags is set.
func (f *dsnFlags) isSet() bool { return f.dsn != "" || f.file != "" }

// check checks the flags without reading the file.
func (f *dsnFlags) check() (err error) {
	if f.dsn != "" && f.file != "" {
		return fmt.Errorf("add either --%s or --%s-file", f.name, f.name)
	}
	if f.dsn == stdio {
		return fmt.Errorf("a store is a file or a database: --%s cannot be standard input or output", f.name)
	}
	if f.dsn == "" {
		return nil
	}
	if f.parsed, err = config.DatabaseOf(f.dsn); err != nil {
		return fmt.Errorf("the DSN of --%s %w", f.name, err)
	}
	return nil
}

// engine returns the engine of the store that the flags name, or of the store of the settings if no flag is set.
func (f *dsnFlags) engine(in *invocation) (engine.Engine, error) {
	database, err := f.database(in)
	if err != nil {
		return nil, err
	}
	if database.Driver == "sqlite" {
		database.DSN = absolutePath(database.DSN) // an unfinished copy stores the path in order to recognise its source
	}
	return newEngine(database), nil
}

func (f *dsnFlags) database(in *invocation) (config.Database, error) {
	if f.dsn != "" {
		return f.parsed, nil
	}
	if f.file == "" {
		settings, err := in.loadConfig()
		return settings.Database, err
	}
	text, err := os.ReadFile(f.file)
	if err != nil {
		return config.Database{}, err
	}
	database, err := config.DatabaseOf(strings.TrimRight(string(text), "\r\n"))
	if err != nil || database.Driver != "postgres" { // errors would show the text as a path; it may be a secret
		err = fmt.Errorf("the file of --%s-file has no connection string of PostgreSQL: write postgres://… to it, or name a SQLite file with --%[1]s",
			f.name)
	}
	return database, err
}
