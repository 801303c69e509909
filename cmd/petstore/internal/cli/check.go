package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"example.com/petstore/repository"
)

func newCheck(in *invocation) *cobra.Command {
	repair := false
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check that the store is intact; fail if it is not",
		Long: `Read the whole store, also while the service runs, and check that the file is not damaged
(on PostgreSQL, with the extension amcheck, the indexes), and that these agree:

  the numbers of animals, of all and of each category, with the animals
  the status of animals with their orders
  the texts by which a search finds animals with their names
  the last position with the last change, and the first one with those that are kept
  the last ids that were given out with the greatest ids

SQL by hand makes them disagree. Each difference is a line on standard error.

With --repair it corrects them in one transaction: numbers are counted again, an animal gets
the status of its order, which is a change by command:check, and ids are given out after the
greatest. If changes are missing, all are removed: clients that follow them must read the
lists again. Writes of the service wait meanwhile. What cannot be corrected is still an error.`,
		Example: "  petstore check\n  petstore check --repair",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return in.withStore(cmd.Context(), mustExist, func(store *repository.Store) error { return in.check(cmd.Context(), store, repair) })
		},
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "correct what differs")
	return cmd
}

// check checks the store, and corrects it if repair is set.
func (in *invocation) check(ctx context.Context, store *repository.Store, repair bool) error {
	found, omitted, err := store.Check(ctx)
	if err != nil {
		return err
	}
	if omitted != "" {
		in.report("%s", omitted)
	}
	result, remedy := "the store is intact", "run petstore check --repair, which corrects what it can"
	if repair && slices.ContainsFunc(found, repository.Difference.Repairable) {
		if found, err = store.Repair(ctx); err != nil {
			return err
		}
		result = "the store is repaired"
	}
	left := int64(0)
	for _, difference := range found {
		if repair && difference.Repairable() {
			in.report("repaired: %s", difference.Text)
			continue
		}
		left++
		in.report("%s", difference.Text)
	}
	switch {
	case left == 0:
		return in.printResult("%s", result)
	case repair || !slices.ContainsFunc(found, repository.Difference.Repairable):
		remedy = "petstore check cannot correct that"
	}
	return fmt.Errorf("the store has %s: %s", counted(left, "problem"), remedy)
}
