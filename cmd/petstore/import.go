package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/delivery/file"
	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

// An importRun is one run of petstore import.
type importRun struct {
	path    string
	format  file.Format
	rejects string
	again   bool

	input  *os.File
	stdout io.Writer
	stderr io.Writer
}

func newImport(in *invocation) *cobra.Command {
	run := &importRun{}
	cmd := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Add the animals of a file to the store",
		Long: `Add the animals of a file, or of standard input, to the store, also while the service runs
on the same store.

NDJSON is a JSON object in each line, as in POST /v1/pets. CSV (RFC 4180) begins with a
header with the columns name, categoryId and, optionally, status and id, in any order. The
rules are those of the API. The store assigns new ids; an id in the file is ignored.

All rows are checked first: a row that violates a rule ends the import with its line and
the rule, and nothing is stored. With --rejects such rows are written to a file instead, as
NDJSON with line, rule and row, and the other rows are added.

Each number of animals that is reported has been committed. If the import is interrupted or
killed, run the same command again: it continues with the next animal. A file that was
imported before, by its content, adds nothing.`,
		Example: `  petstore import pets.csv
  petstore import pets.ndjson --rejects rejected.ndjson
  gunzip --stdout pets.csv.gz | petstore import - --format csv`,
		Args: func(cmd *cobra.Command, args []string) (err error) {
			if err := oneArg("name the FILE to import, or - for standard input")(cmd, args); err != nil {
				return err
			}
			run.path = args[0]
			run.format, err = formatOf(run.format, run.path)
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			ctx := cmd.Context()
			run.stdout, run.stderr = in.stdout, in.stderr
			if run.input, err = openInput(ctx, run.path, cmd.InOrStdin()); err != nil {
				return err
			}
			defer run.input.Close()
			return in.withStore(ctx, repository.Options{}, func(store *repository.Store) error { return run.run(ctx, store) })
		},
	}
	addFormatFlag(cmd, &run.format, "read the `FORMAT` ndjson or csv (default by the extension .ndjson, .jsonl or .csv)")
	cmd.Flags().Func("rejects", "write the rows that violate a rule, if any, to the new `FILE`, and add the others", func(path string) error {
		if run.rejects = path; path == "" || path == stdio {
			return errors.New("must be the name of a new file")
		}
		return nil
	})
	cmd.Flags().BoolVar(&run.again, "again", false, "add the animals of a file that was imported before once more")
	return cmd
}

// run checks the file, then adds its animals.
func (r *importRun) run(ctx context.Context, store *repository.Store) error {
	start := time.Now()
	rejects, err := createRejects(r.rejects)
	if err != nil {
		return err
	}
	defer rejects.discard()
	checked, err := r.check(ctx, rejects)
	if ctx.Err() != nil {
		return interruptedOr(ctx, err, "this run stored nothing")
	}
	importer := usecase.NewImporter(store, checked.digest, clock)
	earlier, startErr := importer.Start(ctx, r.again)
	if err := cmp.Or(err, startErr); err != nil {
		outcome := "this run stored nothing"
		if earlier.Added > 0 {
			outcome += fmt.Sprintf("; an earlier run stored %d animals of this file", earlier.Added)
		}
		return interruptedOr(ctx, err, outcome)
	}
	otherIDs := 0
	if !earlier.Complete {
		if otherIDs, err = r.add(ctx, importer, earlier, checked); err != nil {
			outcome := fmt.Sprintf("added %d of %d animals", importer.Added(), checked.pets)
			if !errors.Is(err, errFileChanged) {
				outcome += "; run the same command again to continue"
			}
			return interruptedOr(ctx, err, outcome)
		}
	}
	if err := rejects.publish(); err != nil {
		return fmt.Errorf("%w: %s was not written; run the same command again to write it", err, r.rejects)
	}
	return r.report(earlier, checked, otherIDs, time.Since(start))
}

// report writes the totals to standard output.
func (r *importRun) report(earlier domain.ImportState, checked checkedFile, otherIDs int, took time.Duration) error {
	text := fmt.Sprintf("added %d animals in %s", checked.pets-earlier.Added, took.Round(time.Millisecond))
	if earlier.Complete {
		text = fmt.Sprintf("added 0 animals: this file with %d animals was imported before; --again adds them once more", checked.pets)
	} else if earlier.Added > 0 {
		text += fmt.Sprintf(", after the %d of an earlier run", earlier.Added)
	}
	if otherIDs > 0 {
		text += fmt.Sprintf("; %d have another id than in the file", otherIDs)
	}
	if checked.rejected > 0 {
		text += fmt.Sprintf("; wrote %d rejected rows to %s", checked.rejected, r.rejects)
	}
	_, err := fmt.Fprintln(r.stdout, text)
	return err
}
