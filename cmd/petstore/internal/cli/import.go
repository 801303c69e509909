package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/delivery/file"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

// An importRun is one run of petstore import.
type importRun struct {
	in      *invocation
	path    string
	format  file.Format
	rejects string
	update  bool
	again   bool
	dryRun  bool
	input   *os.File

	checked   checkedFile
	differing int64            // with --update: the number of animals that differ from the stored ones
	earlier   port.ImportState // how far earlier runs have imported the file
}

func newImport(in *invocation) *cobra.Command {
	run := &importRun{in: in}
	cmd := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Add the animals of a file to the store, or replace those that it has",
		Long: `Add the animals of a file, or of standard input, to the store, also while the service runs
on the same store. With --update, replace the animals of the store that have the same ids.

NDJSON is a JSON object in each line, CSV (RFC 4180) begins with a header. The members or the
columns are name, categoryId and, optionally, status and id, in any order, and no others. In
CSV, rows of empty cells and empty columns at the end, which spreadsheets leave, are skipped.
The header shows whether commas, semicolons or tabs separate the columns. A name such as '=1
loses its first apostrophe, which export writes before =, +, - and @.

The rules are those of the API. Without --update, every animal of the file is added with a new
id; an id in the file must be a number of at least 1, and is not used.

All rows are checked first, and --dry-run ends there. If rows violate a rule, nothing is
stored, and the error lists the first 20 of them with their lines and rules. With --rejects
they are written to a new file instead, as NDJSON with line, rule and row, in which U+FFFD
stands for what is not UTF-8. The other rows are added, and the exit status is 0. Then correct
and import the rejected rows alone: importing the whole file again after a correction would
add its valid rows once more.

Each number of animals that is reported has been committed. If the import is interrupted or
killed, run the same command again, but without --again: it continues with the next animal.
A file is recognised by its content: one that was imported before adds nothing, but after any
change it is a new file. With --again, it adds all animals of the file once more. Until that
is complete, the file counts as not imported, and the next run continues it.

With --update, each row must have an id, and a CSV file must have all columns, as an export
has them. A row without a status removes the status of its animal. Nothing is stored if an id
occurs twice, if the store has no animal with an id, or if a row would change the status of an
animal that has a placed or delivered order; the error lists the first 20 of these animals.

An update also undoes what was changed since the export: leave only the rows in the file that
you have edited. Animals that are already as in the file are not written. So if the update is
interrupted or killed, run the same command again.

Until the file of --rejects is complete, its name is FILE.NUMBER.partial.`,
		Example: `  petstore import pets.csv --dry-run
  petstore import pets.csv
  petstore import pets.ndjson --rejects rejected.ndjson
  petstore export pets.csv   # correct it, then: petstore import pets.csv --update
  gunzip --stdout pets.csv.gz | petstore import - --format csv`,
		Args: func(cmd *cobra.Command, args []string) (err error) {
			if err := oneArg("name the FILE to import, or - for standard input")(cmd, args); err != nil {
				return err
			}
			if run.again && run.update {
				return errors.New("add either --again or --update")
			}
			run.path = args[0]
			run.format, err = formatOf(run.format, run.path)
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			ctx := cmd.Context()
			if run.input, err = openInput(ctx, run.path, cmd.InOrStdin()); err != nil {
				return err
			}
			defer run.input.Close()
			if run.dryRun && !run.update {
				return run.run(ctx, nil)
			}
			return in.withStore(ctx, mustExist, func(store *repository.Store) error { return run.run(ctx, store) })
		},
	}
	cmd.Flags().Func("format", "read the `FORMAT` ndjson or csv (default by the extension .ndjson, .jsonl or .csv)",
		oneOf(&run.format, "ndjson", "csv"))
	cmd.Flags().Func("rejects", "write the rows that violate a rule, if any, to the new `FILE`, and add the others", func(path string) error {
		if run.rejects = path; path == "" || path == stdio {
			return errors.New("must be the name of a new file")
		}
		return nil
	})
	cmd.Flags().BoolVar(&run.update, "update", false, "replace the animals of the store whose ids the file has")
	cmd.Flags().BoolVar(&run.dryRun, "dry-run", false, "only check the rows; without --update, the store is not opened")
	cmd.Flags().BoolVar(&run.again, "again", false, "add the animals of a file that was imported before once more")
	return cmd
}

// run checks the file. Unless it is a dry run, it then adds the animals of the file, or with --update replaces the
// stored ones. It also writes the file of --rejects.
func (r *importRun) run(ctx context.Context, store *repository.Store) (err error) {
	start := time.Now()
	var rejects *newFile
	if r.rejects != "" {
		if rejects, err = createFile(r.rejects); err != nil {
			return err
		}
		defer rejects.discard()
	}
	err = r.check(ctx, rejects)
	var replacer *usecase.Replacer
	if r.update && err == nil {
		replacer = usecase.NewReplacer(store, store.Pets(), store.Orders())
		err = r.checkReplaced(ctx, replacer)
	}
	if err != nil || ctx.Err() != nil {
		return interruptedOr(ctx, err, "this run stored nothing")
	}
	complete, done := "the check is complete", fmt.Sprintf("checked %d animals, and stored nothing", r.checked.pets)
	switch {
	case r.dryRun && r.update:
		done = fmt.Sprintf("checked %d animals, of which %d would be replaced, and stored nothing", r.checked.pets, r.differing)
	case r.dryRun:
	case r.update:
		if err := r.replace(ctx, replacer); err != nil {
			return err
		}
		complete, done = "the import is complete", fmt.Sprintf("replaced %d of %d animals in %s: the others are already as in the file",
			replacer.Replaced(), r.checked.pets, time.Since(start).Round(time.Millisecond))
	default:
		importer := usecase.NewImporter(store, r.checked.digest, usecase.Now)
		if err := r.store(ctx, importer); err != nil {
			return err
		}
		complete, done = "the import is complete", r.added(importer, time.Since(start))
	}
	if r.checked.rejected > 0 {
		if err := rejects.publish(); err != nil {
			return fmt.Errorf("%w: %s, but %s was not written; %s to write it", err, complete, r.rejects, r.rerun(!r.dryRun))
		}
		done += fmt.Sprintf("; wrote %d rejected rows to %s", r.checked.rejected, r.rejects)
	}
	if r.again && !r.dryRun && r.checked.pets > 0 {
		done += "; each run with --again adds them once more"
	}
	return r.in.printResult("%s", done)
}

// replace replaces the stored animals by the animals of the file.
func (r *importRun) replace(ctx context.Context, replacer *usecase.Replacer) error {
	progress := newProgress(r.in.Stderr, "animals", int(r.checked.pets))
	defer progress.stop()
	if err := replacer.Run(ctx, r.checked.pets, r.valid(ctx), progress.throttled(ctx)); err != nil {
		outcome := fmt.Sprintf("replaced %d animals; run the same command again to continue", replacer.Replaced())
		return interruptedOr(ctx, err, outcome)
	}
	return nil
}

// store adds the animals of the file that no earlier run has added. With --again, it adds all animals once more if an
// earlier run has added all.
func (r *importRun) store(ctx context.Context, importer *usecase.Importer) (err error) {
	r.earlier, err = importer.Start(ctx, r.again)
	started := err == nil
	if started && !r.earlier.Complete {
		progress := newProgress(r.in.Stderr, "animals", int(r.checked.pets-r.earlier.Added))
		defer progress.stop()
		err = importer.Run(ctx, r.checked.pets, r.valid(ctx), progress.throttled(ctx))
	}
	if err != nil {
		return interruptedOr(ctx, err, r.outcome(err, started, importer.Added()))
	}
	return nil
}

// outcome returns a text for an error of the method store: how many animals have been added, including earlier runs, and
// how to continue. started says whether the start of the import is stored.
func (r *importRun) outcome(err error, started bool, added int64) string {
	text := fmt.Sprintf("added %d of %d animals; ", added, r.checked.pets)
	switch {
	case !errors.Is(err, errFileChanged):
		return text + r.rerun(started) + " to continue"
	case added == 0:
		return text + "run the same command again when the file does not change"
	default:
		return text + "to continue, import a copy of the file as it was: of the changed file, all animals would be added"
	}
}

// rerun returns how to run the import again. started says whether the start of the import is stored. If it is, an
// import with --again is continued without --again. The last transaction may have been committed in spite of an error:
// then the import is complete, and --again would add all animals once more.
func (r *importRun) rerun(started bool) string {
	if r.again && started {
		return "run the command again without --again"
	}
	return "run the same command again"
}

// added returns the result of a complete import: how many animals were added, and by which run.
func (r *importRun) added(importer *usecase.Importer, took time.Duration) string {
	text := fmt.Sprintf("added %d animals in %s", r.checked.pets-r.earlier.Added, took.Round(time.Millisecond))
	if r.earlier.Complete && r.checked.pets > 0 {
		text = fmt.Sprintf("added 0 animals: this file with %d animals was imported before; --again adds them once more", r.checked.pets)
	} else if r.earlier.Added > 0 {
		text += fmt.Sprintf(", after the %d of an earlier run", r.earlier.Added)
	}
	if n := importer.OtherIDs(); n > 0 {
		text += fmt.Sprintf("; %d have another id than in the file: to correct animals instead of adding them, use --update", n)
	}
	return text
}
