package cli

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
)

// An exportRun is one run of petstore export.
type exportRun struct {
	path   string
	kind   string // pets or orders
	status string
	format file.Format
}

func newExport(in *invocation) *cobra.Command {
	run := &exportRun{path: stdio, kind: "pets"}
	cmd := &cobra.Command{
		Use:   "export [FILE|-]",
		Short: "Write all animals or orders to a file",
		Long: `Write all animals or orders to a new file, or to standard output, also while the service
runs on the same store. They are those at one point in time, in ascending order of id.

NDJSON is a JSON object in each line, as in the responses of the API. CSV (RFC 4180) begins
with a header and has the same names: id, name, categoryId and status of animals; id, petId,
status, createdAt and updatedAt of orders.

A file gets its name when it is complete; until then it is FILE.partial. A file that exists
is not overwritten, but any FILE.partial that is not in use is removed.`,
		Example: `  petstore export pets.csv
  petstore export --type orders --status placed orders.ndjson
  petstore export - | gzip > pets.ndjson.gz`,
		Args: run.parseArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if run.path == stdio && isNullDevice(in.stdout.out) {
				return errors.New("standard output is closed or " + os.DevNull + ": redirect it, or name a FILE")
			}
			return in.withStore(cmd.Context(), mustExist, func(store *repository.Store) error {
				return run.run(cmd.Context(), in, store)
			})
		},
	}
	cmd.Flags().Func("type", "write the `TYPE` of records, pets or orders (default pets)", func(kind string) error {
		if run.kind = kind; kind != "pets" && kind != "orders" {
			return errors.New("must be pets or orders")
		}
		return nil
	})
	cmd.Flags().StringVar(&run.status, "status", "", "write only the records with this `STATUS`")
	addFormatFlag(cmd, &run.format, "write the `FORMAT` ndjson or csv (default by the extension .ndjson, .jsonl or .csv; ndjson for standard output)")
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
	if r.kind == "orders" {
		known, rule = domain.OrderStatus(r.status).Known(), domain.OrderStatusRule
	}
	if cmd.Flags().Changed("status") && !known {
		return fmt.Errorf("invalid argument %q for \"--status\" flag: %s", r.status, rule)
	}
	if r.path == stdio {
		r.format = cmp.Or(r.format, file.NDJSON)
	}
	r.format, err = formatOf(r.format, r.path)
	return err
}

// run writes the records to the file, or to standard output.
func (r *exportRun) run(ctx context.Context, in *invocation, store *repository.Store) error {
	start := time.Now()
	if r.path == stdio {
		written, units, err := r.write(ctx, store, in.stdout, in.stderr)
		if err != nil {
			return interruptedOr(ctx, err, "the output is incomplete")
		}
		fmt.Fprintf(contextWriter{ctx, in.stderr}, "exported %d %s in %s\n", written, units, time.Since(start).Round(time.Millisecond))
		return nil
	}
	out, err := createFile(r.path)
	if err != nil {
		return err
	}
	defer out.discard()
	written, units, err := r.write(ctx, store, out, in.stderr)
	if err == nil {
		err = out.publish()
	}
	if err != nil {
		return interruptedOr(ctx, err, r.path+" was not written")
	}
	return in.printResult(fmt.Sprintf("exported %d %s in %s", written, units, time.Since(start).Round(time.Millisecond)))
}

// write writes the records and reports the progress. It returns their number and unit.
func (r *exportRun) write(ctx context.Context, store *repository.Store, out, stderr io.Writer) (written int, units string, err error) {
	if r.kind == "orders" {
		status, orders := domain.OrderStatus(r.status), store.Orders()
		total, err := orders.Count(ctx, status)
		if err != nil {
			return 0, "", err
		}
		written, err = writeAll(file.NewOrderWriter(out, r.format), newProgress(ctx, stderr, "orders", int(total)),
			func(write func(domain.Order) error) error { return orders.Each(ctx, status, write) })
		return written, "orders", err
	}
	status, pets := domain.PetStatus(r.status), store.Pets()
	total, err := pets.Count(ctx, status)
	if err != nil {
		return 0, "", err
	}
	written, err = writeAll(file.NewPetWriter(out, r.format), newProgress(ctx, stderr, "animals", int(total)),
		func(write func(domain.Pet) error) error { return pets.Each(ctx, status, write) })
	return written, "animals", err
}

// writeAll writes the records that each calls its function with, and returns their number.
func writeAll[T any](out *file.Writer[T], p progress, each func(write func(T) error) error) (written int, err error) {
	const step = 1000 // records between two calls of p.add
	err = each(func(record T) error {
		if written++; written%step == 0 {
			p.add(step)
		}
		return out.Write(record)
	})
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		p.stop()
		return written, err
	}
	if rest := written % step; rest > 0 {
		p.add(rest)
	}
	return written, nil
}
