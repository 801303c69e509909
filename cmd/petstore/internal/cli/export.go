package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/domain"
	"example.com/petstore/internal/file"
	"example.com/petstore/repository"
)

// An exportRun is one run of petstore export.
type exportRun struct {
	in     *invocation
	path   string
	kind   string // pets, orders, categories or changes
	status string
	query  domain.PetQuery // the other filters of animals
	format file.Format

	bom       bool
	delimiter string
}

// nouns has the noun for one record of each type, for messages.
var nouns = map[string]string{"pets": "animal", "orders": "order", "categories": "category", "changes": "change"}

// delimiters has the delimiter for each value of --delimiter.
var delimiters = map[string]rune{"": ',', ",": ',', ";": ';', "tab": '\t'}

func newExport(in *invocation) *cobra.Command {
	run := &exportRun{in: in, path: stdio, kind: "pets"}
	cmd := &cobra.Command{
		Use:   "export [FILE|-]",
		Short: "Write all animals, orders, categories or changes to a file",
		Long: `Write all animals, orders, categories or changes to a new file, or to standard output, also
while the service runs on the same store. All records are read at one point in time, and
written in ascending order of id or seq. Of the changes, export writes those that are still
kept: who changed what, and an animal as it was before a correction.

NDJSON is a JSON object in each line, as in the responses of the API. CSV (RFC 4180) begins
with a header and has the same names: id, name, categoryId and status of animals; id, petId,
status, createdAt and updatedAt of orders; id and name of categories, also of those that have
animals and no name. Changes are written as NDJSON only.

For Excel add --bom, otherwise it does not read UTF-8, and in some countries --delimiter ";".
import needs neither flag. A spreadsheet runs a text that begins with =, +, - or @ (or their
full-width forms) as a formula. Therefore an apostrophe is written to CSV before such a name,
and before such a part of a name after a comma, semicolon or tab, also if apostrophes or
quotes precede the sign: '=1+1 for the name =1+1. import removes one apostrophe again.
LibreOffice and Excel round numbers of more than 15 digits.

A file gets its name when it is complete; until then it is FILE.NUMBER.partial, which is left
if the process is killed. A file that exists is not overwritten.`,
		Example: `  petstore export pets.csv
  petstore export rex.csv --q rex --category 7 --status available
  petstore export --type orders --status placed orders.ndjson
  petstore export --type categories categories.csv
  petstore export --type changes changes.ndjson
  petstore export excel.csv --bom --delimiter ";"
  petstore export - | gzip > pets.ndjson.gz`,
		Args: run.parseArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if run.path == stdio {
				if err := in.checkStdout(": redirect it, or name a FILE"); err != nil {
					return err
				}
			}
			return in.withStore(cmd.Context(), mustExist, func(store *repository.Store) error {
				return run.run(cmd.Context(), store)
			})
		},
	}
	cmd.Flags().Func("type", "write the `TYPE` of records, pets, orders, categories or changes (default pets)",
		oneOf(&run.kind, "pets", "orders", "categories", "changes"))
	cmd.Flags().StringVar(&run.status, "status", "", "write only the records with this `STATUS`")
	cmd.Flags().StringVar(&run.query.Text, "q", "", "write only the animals whose name contains `TEXT`, whatever the case")
	cmd.Flags().Func("category", "write only the animals of the category `ID`", func(text string) error {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return errors.New("must be a 64-bit integer")
		}
		run.query.CategoryID = &id
		return nil
	})
	cmd.Flags().Func("format", "write the `FORMAT` ndjson or csv (default by the extension .ndjson, .jsonl or .csv; ndjson for standard output)",
		oneOf(&run.format, "ndjson", "csv"))
	cmd.Flags().BoolVar(&run.bom, "bom", false, "begin CSV with a byte order mark, so that Excel reads UTF-8")
	cmd.Flags().Func("delimiter", "separate the columns of CSV by `DELIMITER`: , or ; or tab (default ,)", oneOf(&run.delimiter, ",", ";", "tab"))
	return cmd
}

// parseArgs sets the file and its format, and checks the status.
func (r *exportRun) parseArgs(cmd *cobra.Command, args []string) (err error) {
	if err := atMostOneArg(cmd, args); err != nil {
		return err
	}
	if len(args) == 1 {
		r.path = args[0]
	}
	known, rule := domain.PetStatus(r.status).Known(), domain.PetStatusRule
	switch r.kind {
	case "orders":
		known, rule = domain.OrderStatus(r.status).Known(), domain.OrderStatusRule
	case "categories", "changes":
		known, rule = false, r.kind+" have none"
	}
	if cmd.Flags().Changed("status") && !known {
		return fmt.Errorf("invalid argument %q for \"--status\" flag: %s", r.status, rule)
	}
	for _, filter := range []string{"q", "category"} {
		if r.kind != "pets" && cmd.Flags().Changed(filter) {
			return fmt.Errorf("--%s is for animals: leave it out, or leave out --type %s", filter, r.kind)
		}
	}
	if cmd.Flags().Changed("q") && !domain.ValidPetName(r.query.Text) {
		return fmt.Errorf("invalid argument %q for \"--q\" flag: %s", r.query.Text, domain.PetNameRule)
	}
	if r.path == stdio {
		r.format = cmp.Or(r.format, file.NDJSON)
	}
	r.format, err = formatOf(r.format, r.path)
	if r.kind == "changes" && r.format == file.CSV {
		return errors.New("changes are written as NDJSON: add --format ndjson, or name a FILE.ndjson")
	}
	if err == nil && r.format != file.CSV && (r.bom || r.delimiter != "") {
		return errors.New("--bom and --delimiter are for CSV: add --format csv, or name a FILE.csv")
	}
	return err
}

// run writes the records to the file, or to standard output.
func (r *exportRun) run(ctx context.Context, store *repository.Store) error {
	start := time.Now()
	out, outcome, publish := r.in.Stdout, "the output is incomplete", func() error { return nil }
	if r.path != stdio {
		created, err := createFile(r.path)
		if err != nil {
			return err
		}
		defer created.discard()
		out, outcome, publish = created, r.path+" was not written", created.publish
	}
	written, err := r.write(ctx, store, out)
	if err == nil {
		err = publish()
	}
	if err != nil {
		return interruptedOr(ctx, err, outcome)
	}
	result := fmt.Sprintf("exported %s in %s", counted(int64(written), nouns[r.kind]), time.Since(start).Round(time.Millisecond))
	if r.path == stdio {
		fmt.Fprintln(r.in.Stderr, result)
		return nil
	}
	return r.in.printResult("%s", result)
}

// write writes the records and returns their number.
func (r *exportRun) write(ctx context.Context, store *repository.Store, out io.Writer) (int, error) {
	if r.bom {
		if _, err := io.WriteString(out, file.ByteOrderMark); err != nil {
			return 0, err
		}
	}
	delimiter := delimiters[r.delimiter]
	switch r.kind {
	case "orders":
		orders, status := store.Orders(), domain.OrderStatus(r.status)
		return writeAll(ctx, r, file.NewOrderWriter(out, r.format, delimiter),
			func(ctx context.Context) (int64, error) { return orders.Count(ctx, status) },
			func(ctx context.Context, write func(domain.Order) error) error {
				return orders.Each(ctx, status, write)
			})
	case "categories":
		categories := store.Categories()
		return writeAll(ctx, r, file.NewCategoryWriter(out, r.format, delimiter), categories.Count, categories.Each)
	case "changes":
		changes := store.Changes()
		return writeAll(ctx, r, file.NewChangeWriter(out), changes.Count, changes.Each)
	}
	pets, status := store.Pets(), domain.PetStatus(r.status)
	return writeAll(ctx, r, file.NewPetWriter(out, r.format, delimiter),
		func(ctx context.Context) (int64, error) { return pets.Count(ctx, status) },
		func(ctx context.Context, write func(domain.Pet) error) error {
			return pets.Each(ctx, status, func(pet domain.Pet) error {
				if !r.query.Selects(pet) {
					return nil
				}
				return write(pet)
			})
		})
}

// writeAll writes the records that each reads, reports the progress on standard error, and returns the number of records.
// count returns how many there are approximately.
func writeAll[T any](
	ctx context.Context, r *exportRun, out *file.Writer[T],
	count func(context.Context) (int64, error), each func(context.Context, func(T) error) error,
) (written int, err error) {
	total, err := count(ctx)
	if err != nil {
		return 0, err
	}
	progress := newProgress(r.in.Stderr, plural(nouns[r.kind]), int(total))
	defer progress.stop()
	const step = 1000 // records between two reports
	err = each(ctx, func(record T) error {
		if written++; written%step == 0 {
			progress.add(step)
		}
		return out.Write(record)
	})
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		progress.add(written - progress.done)
	}
	return written, err
}

// stdio is the argument for standard input or standard output instead of a file.
const stdio = "-"

// formatOf returns the format of a file. flag is the value of --format; if it is empty, the extension of path determines
// the format.
func formatOf(flag file.Format, path string) (file.Format, error) {
	if flag != "" {
		return flag, nil
	}
	if format := file.FormatOf(path); format != "" {
		return format, nil
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".xlsx", ".xls", ".ods", ".numbers":
		return "", fmt.Errorf("%s is the name of a workbook: use a CSV file, which spreadsheets can save and open", path)
	}
	return "", fmt.Errorf("the format of %s is not known: add --format ndjson or --format csv", nameOf(path))
}

// nameOf returns the name of an input file for messages.
func nameOf(path string) string {
	if path == stdio {
		return "standard input"
	}
	return path
}
