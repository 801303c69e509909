package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

// seedBatchSize is the number of animals in a transaction, as in an import.
const seedBatchSize = 1000

// defaultRandomSeed generates an available animal 1 and a placed order 1, so that the examples of the OpenAPI document
// succeed.
const defaultRandomSeed = 8

func newSeed(in *invocation) *cobra.Command {
	var count, orders uint32
	var randomSeed uint64
	cmd := &cobra.Command{
		Use:   "seed",
		Short: "Add generated animals and orders to the store",
		Long: `Add generated animals and orders to the store, also while the service runs on the same
store. Each number of animals that it reports has been committed. If interrupted, it
reports how many animals were added and exits with 1.`,
		Example: "  petstore seed --count 1000000",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return in.withStore(cmd.Context(), mayCreate, func(store *repository.Store) error {
				seeder := usecase.NewSeeder(store, randomSeed, int(orders), usecase.Now)
				return in.seed(cmd.Context(), seeder, int(count))
			})
		},
	}
	cmd.Flags().Uint32Var(&count, "count", 1000, "add `N` animals")
	cmd.Flags().Uint32Var(&orders, "orders", 50, "order every `N`th animal that can be ordered; 0 adds no orders")
	cmd.Flags().Uint64Var(&randomSeed, "random-seed", defaultRandomSeed,
		"seed the random generator with `NUMBER`; the same number generates the same data")
	return cmd
}

// seed adds count animals. It reports the progress on standard error, and prints the totals on standard output.
func (in *invocation) seed(ctx context.Context, seeder *usecase.Seeder, count int) error {
	start := time.Now()
	progress := newProgress(in.Stderr, "animals", count)
	defer progress.stop()
	committed := progress.throttled(ctx)
	added, ordered := 0, 0
	for added < count {
		n := min(seedBatchSize, count-added)
		orders, err := seeder.Add(ctx, n)
		if err != nil {
			return interruptedOr(ctx, err, fmt.Sprintf("added %d of %s", added, counted(int64(count), "animal")))
		}
		added, ordered = added+n, ordered+orders
		committed(n)
	}
	animals, orders := counted(int64(added), "animal"), counted(int64(ordered), "order")
	return in.printResult("added %s and %s in %s", animals, orders, time.Since(start).Round(time.Millisecond))
}
