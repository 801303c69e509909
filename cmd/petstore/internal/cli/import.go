package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/domain"
	"example.com/petstore/internal/file"
	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

// An importRun is one run of petstore import.
type importRun struct {
	in       *invocation
	path     string
	kind     string // pets or categories
	format   file.Format
	titles   map[string]string // --column: the title of a column
	encoding string
	rejects  string
	update   bool
	add      bool
	again    bool
	dryRun   bool
	input    *os.File

	checked   checkedFile
	differing int64 // with --update: the number of animals that differ from the stored ones
	earlier   int64 // how many animals of the file earlier runs have added
}

func newImport(in *invocation) *cobra.Command {
	run := &importRun{in: in, kind: "pets", titles: map[string]string{}}
	cmd := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Add the animals of a file to the store, replace those that it has, or name categories",
		Long: `Add the animals of a file, or of standard input, to the store, also while the service runs
on the same store. With --update, replace the animals of the store that have the same ids.

NDJSON is a JSON object in each line with the members name, categoryId and, optionally, status
and id, and no others. CSV has a header with these columns, in any order and letter case; lines
above it and other columns are ignored, and named on standard error. --column categoryId=Art
reads a column that has another title. Commas, semicolons or tabs separate the columns. A name
loses the apostrophes that export writes, see petstore export --help.

The rules are those of the API; in CSV, blanks around numbers and the letter case of a status do
not matter. Without --update, every animal of the file is added with a new id; an id in the
file must be a number of at least 1, and is not used.

All rows are checked first, and --dry-run ends there. If rows violate a rule, nothing is
stored, and the error lists the first 20 of them with their lines and rules. With --rejects
they are written to a new file instead, in the format of the input: as they were read, after a
column or member rule, which import ignores. The other rows are added, and the exit status is
0. Then correct the rejected rows in that file, and import it: importing the whole file again
after a correction would add its valid rows once more.

Each number of animals that is reported has been committed. If the import is interrupted or
killed, run the same command again, but without --again: it continues with the next animal.
A file is recognised by its animals: if they were imported before, it adds nothing, but after
any change of an animal it is a new file. With --again, it adds all animals of the file once
more. Until that is complete, the file counts as not imported, and the next run continues it.

With --update, each row must have an id, and a CSV file must have all columns, as an export
has them. A row without a status removes the status of its animal. Nothing is stored if an id
occurs twice, if the store has no animal with an id, or if a row would change the status of an
animal that has a placed or delivered order; the error lists the first 20 of these animals.

With --update --add, rows without an id are new animals, and are added after the others are
replaced. Then export again: in the file they still have no id, and with a further new row
they would be added once more. A row cannot choose its id: the store assigns it.

An update also undoes what was changed since the export: leave only the rows in the file that
you have edited. Animals that are already as in the file are not written. So if the update is
interrupted or killed, run the same command again.

With --type categories, the file has the columns or members id and name, as an export has them.
Each category gets the name of its row, or loses its name if the row has none. Other categories
stay as they are. A row with the id of an earlier row violates a rule.

Until the file of --rejects is complete, its name is FILE.NUMBER.partial.`,
		Example: `  petstore import pets.csv --dry-run
  petstore import pets.csv --column categoryId=Art --rejects rejected.csv
  petstore export pets.csv   # correct it, then: petstore import pets.csv --update
  petstore import categories.csv --type categories
  gunzip --stdout pets.csv.gz | petstore import - --format csv`,
		Args: run.parseArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			ctx := cmd.Context()
			if run.input, err = openInput(ctx, run.path, cmd.InOrStdin()); err != nil {
				return err
			}
			defer run.input.Close()
			return run.run(ctx)
		},
	}
	cmd.Flags().Func("format", "read the `FORMAT` ndjson or csv (default by the extension .ndjson, .jsonl or .csv)",
		oneOf(&run.format, "ndjson", "csv"))
	cmd.Flags().Func("type", "read the `TYPE` of records, pets or categories (default pets)", oneOf(&run.kind, "pets", "categories"))
	cmd.Flags().Func("column", "read a column of CSV that has another title, as `COLUMN=TITLE`, such as categoryId=Art", run.setTitle)
	cmd.Flags().Func("encoding", "read the `ENCODING` utf-8 or windows-1252 (default utf-8)", oneOf(&run.encoding, "utf-8", "windows-1252"))
	cmd.Flags().Func("rejects", "write the rows that violate a rule, if any, to the new `FILE`, and add the others", func(path string) error {
		if run.rejects = path; path == "" || path == stdio {
			return errors.New("must be the name of a new file")
		}
		return nil
	})
	cmd.Flags().BoolVar(&run.update, "update", false, "replace the animals of the store whose ids the file has")
	cmd.Flags().BoolVar(&run.add, "add", false, "with --update, add the animals of rows without an id")
	cmd.Flags().BoolVar(&run.dryRun, "dry-run", false, "only check the rows; without --update, the store is not opened")
	cmd.Flags().BoolVar(&run.again, "again", false, "add the animals of a file that was imported before once more")
	return cmd
}

// parseArgs sets the file and its format, and checks the flags.
func (r *importRun) parseArgs(cmd *cobra.Command, args []string) (err error) {
	if err := oneArg("name the FILE to import, or - for standard input")(cmd, args); err != nil {
		return err
	}
	switch {
	case r.add && !r.update:
		return errors.New("--add is for --update: without it, all animals of the file are added")
	case r.again && r.update && !r.add:
		return errors.New("add either --again or --update")
	}
	if r.kind == "categories" {
		if r.update || r.again {
			return errors.New("--update and --again are for animals: the names of categories are always replaced")
		}
		if r.titles["categoryId"]+r.titles["status"] != "" {
			return errors.New("categories have the columns id and name: correct --column")
		}
	}
	r.path = args[0]
	r.format, err = formatOf(r.format, r.path)
	switch other := file.FormatOf(r.rejects); {
	case err != nil:
		return err
	case r.format != file.CSV && len(r.titles) > 0:
		return errors.New("--column is for CSV: add --format csv, or name a FILE.csv")
	case other != "" && other != r.format:
		return fmt.Errorf("--rejects writes the format of the input: name a file with the extension .%s", r.format)
	}
	return nil
}

// setTitle sets the title of a column to the value of a flag --column.
func (r *importRun) setTitle(value string) error {
	name, title, _ := strings.Cut(value, "=")
	var column string
	if err := oneOf(&column, "id", "name", "categoryId", "status")(name); err != nil {
		return fmt.Errorf("the COLUMN %w", err)
	}
	if strings.TrimSpace(title) == "" {
		return errors.New("must be COLUMN=TITLE, such as categoryId=Art")
	}
	r.titles[column] = title
	return nil
}

// run checks the file. Unless it is a dry run, it then adds the animals of the file, or with --update replaces the
// stored ones. It also writes the file of --rejects. The store is opened when the file has been checked, so that a file
// with an error creates no store.
func (r *importRun) run(ctx context.Context) (err error) {
	var rejects *newFile
	if r.rejects != "" {
		if rejects, err = createFile(r.rejects); err != nil {
			return err
		}
		defer rejects.discard()
	}
	if err := r.check(ctx, rejects); err != nil || ctx.Err() != nil {
		return interruptedOr(ctx, err, storedNothing)
	}
	done := fmt.Sprintf("checked %s, and stored nothing", counted(r.checked.valid(), nouns[r.kind]))
	if n := r.checked.withID; n > 0 {
		done += fmt.Sprintf("; %s with an id would get a new one: to correct animals instead of adding them, use --update", counted(n, "animal"))
	}
	if !r.dryRun || r.update {
		err = r.in.withStore(ctx, mustExist, func(store *repository.Store) (err error) {
			done, err = r.store(ctx, store)
			return err
		})
	}
	if err != nil {
		return err
	}
	if r.checked.rejected > 0 {
		if err := rejects.publish(); err != nil {
			return fmt.Errorf("%w: %s, but %s was not written; %s to write it", err, done, r.rejects, r.rerun(!r.dryRun))
		}
		done += fmt.Sprintf("; wrote %s to %s", counted(r.checked.rejected, "rejected row"), r.rejects)
		switch {
		case r.kind != "pets" || r.dryRun:
		case r.update:
			done += ": correct that file and import it with --update"
		case r.checked.unknown > 0:
			done += ": correct that file and import it; the whole file, once changed, would be added again"
		}
	}
	return r.in.printResult("%s", done)
}

// storedNothing is the outcome of a run that fails before its first transaction.
const storedNothing = "this run stored nothing"

// store replaces the stored animals, and adds the new ones. It returns the result for people.
func (r *importRun) store(ctx context.Context, store *repository.Store) (done string, err error) {
	start := time.Now()
	if r.kind == "categories" {
		return r.putCategories(ctx, store)
	}
	if r.update {
		replacer := usecase.NewReplacer(store, store.Pets(), store.Orders())
		if err := r.checkReplaced(ctx, replacer); err != nil || ctx.Err() != nil {
			return "", interruptedOr(ctx, err, storedNothing)
		}
		if r.dryRun {
			return r.wouldReplace(), nil
		}
		if err := r.replace(ctx, replacer); err != nil {
			return "", err
		}
		done = fmt.Sprintf("replaced %d of %s in %s%s", replacer.Replaced(), counted(r.checked.known, "animal"),
			time.Since(start).Round(time.Millisecond), unchanged(replacer.Replaced(), r.checked.known))
		if !r.add {
			return done, nil
		}
		done += "; "
	}
	importer := usecase.NewImporter(store, r.checked.digest, r.checked.unknown)
	if err := r.addNew(ctx, importer); err != nil {
		return "", err
	}
	return done + r.added(importer, time.Since(start)), nil
}

// putCategories gives the categories of the file their names. It returns the result for people.
func (r *importRun) putCategories(ctx context.Context, store *repository.Store) (string, error) {
	const batchSize = 100 // categories in a transaction
	start, all, changed := time.Now(), r.checked.categories, int64(0)
	progress := newProgress(r.in.Stderr, "categories", len(all))
	defer progress.stop()
	committed, categories := progress.throttled(ctx), usecase.NewCategories(store, store.Categories())
	for batch := range slices.Chunk(all, batchSize) {
		n, err := categories.PutAll(ctx, batch)
		if err != nil {
			return "", interruptedOr(ctx, err, fmt.Sprintf("changed %s; run the same command again to continue", counted(changed, "name")))
		}
		changed += n
		committed(len(batch))
	}
	return fmt.Sprintf("changed the names of %d of %s in %s%s", changed, counted(int64(len(all)), "category"),
		time.Since(start).Round(time.Millisecond), unchanged(changed, int64(len(all)))), nil
}

// unchanged ends a result: it says why only n of all records were written.
func unchanged(n, all int64) string {
	if n == all {
		return ""
	}
	return ": the others are already as in the file"
}

// wouldReplace returns the result of a dry run with --update.
func (r *importRun) wouldReplace() string {
	added := ""
	if r.add {
		added = fmt.Sprintf(" and %d are new", r.checked.unknown)
	}
	return fmt.Sprintf("checked %s, of which %d would be replaced%s, and stored nothing", counted(r.checked.valid(), "animal"), r.differing, added)
}

// replace replaces the stored animals by the animals of the file.
func (r *importRun) replace(ctx context.Context, replacer *usecase.Replacer) error {
	progress := newProgress(r.in.Stderr, "animals", int(r.checked.known))
	defer progress.stop()
	err := replacer.Run(ctx, r.checked.known, r.valid(ctx, isKnown), progress.throttled(ctx))
	if err == nil {
		return nil
	}
	remedy := "run the same command again to continue"
	if errors.Is(err, domain.ErrNotFound) || errors.Is(err, domain.ErrConflict) { // since the check
		remedy = "correct the row, then run the same command again"
	}
	return interruptedOr(ctx, err, fmt.Sprintf("replaced %s; %s", counted(replacer.Replaced(), "animal"), remedy))
}

// addNew adds the new animals of the file that no earlier run has added. With --again, it adds all of them once more if an
// earlier run has added all.
func (r *importRun) addNew(ctx context.Context, importer *usecase.Importer) (err error) {
	r.earlier, err = importer.Start(ctx, r.again)
	started := err == nil
	if started && r.earlier < r.checked.unknown {
		progress := newProgress(r.in.Stderr, "animals", int(r.checked.unknown-r.earlier))
		defer progress.stop()
		err = importer.Run(ctx, r.valid(ctx, r.isNew), progress.throttled(ctx))
	}
	if err != nil {
		return interruptedOr(ctx, err, r.outcome(err, started, importer.Added()))
	}
	return nil
}

// outcome returns a text for an error of addNew: how many animals have been added, including earlier runs, and
// how to continue. started says whether the start of the import is stored.
func (r *importRun) outcome(err error, started bool, added int64) string {
	text := fmt.Sprintf("added %d of %s; ", added, counted(r.checked.unknown, "animal"))
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
	text := fmt.Sprintf("added %s in %s", counted(r.checked.unknown-r.earlier, "animal"), took.Round(time.Millisecond))
	switch r.earlier {
	case 0:
	case r.checked.unknown:
		return fmt.Sprintf("added 0 animals: a file with the same %s was imported before; --again adds them once more",
			counted(r.checked.unknown, "animal"))
	default:
		text += fmt.Sprintf(", after the %d of an earlier run", r.earlier)
	}
	if n := importer.OtherIDs(); n > 0 {
		have := "have"
		if n == 1 {
			have = "has"
		}
		text += fmt.Sprintf("; %d %s another id than in the file: to correct animals instead of adding them, use --update", n, have)
	}
	if r.again && r.checked.unknown > 0 {
		text += "; each run with --again adds them once more"
	}
	return text
}
