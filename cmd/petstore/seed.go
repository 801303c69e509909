package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

// seedBatch is how many animals share a transaction. It takes some milliseconds,
// which is how long a request to a serving process may have to wait.
const seedBatch = 1000

func newSeed(in *invocation) *cobra.Command {
	var count, orders uint32
	var random uint64
	cmd := &cobra.Command{
		Use:   "seed",
		Short: "Fill the store with made-up animals and orders",
		Long: `Fill the store with made-up animals and orders, beside those that it has and beside a serving process.
Whatever progress it tells is on disk. Interrupted, it ends behind the last whole batch, says how many animals were added and exits with 1.`,
		Example: "  petstore seed --count 1000000",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return in.withStore(cmd.Context(), repository.Options{}, func(store *repository.Store) error {
				seeder := usecase.NewSeeder(store, random, int(orders), clock)
				return seed(cmd.Context(), seeder, int(count), in.stdout, in.stderr)
			})
		},
	}
	cmd.Flags().Uint32Var(&count, "count", 1000, "how many animals to add: `N`")
	cmd.Flags().Uint32Var(&orders, "orders", 50, "order every `N`th animal that can be ordered, 0 for none")
	cmd.Flags().Uint64Var(&random, "random-seed", 1, "the same `NUMBER` makes the same animals and orders")
	return cmd
}

// seed adds animals, and tells progress on stderr and the sum on stdout.
func seed(ctx context.Context, seeder *usecase.Seeder, count int, stdout, stderr io.Writer) error {
	start := time.Now()
	progress := newProgress(stderr, count)
	added, ordered := 0, 0
	for added < count {
		batch := time.Now()
		n := min(seedBatch, count-added)
		orders, err := seeder.Add(ctx, n)
		if err != nil {
			progress.stop()
			if ctx.Err() != nil {
				return fmt.Errorf("interrupted: %d of %d animals were added and are on disk", added, count)
			}
			return fmt.Errorf("after %d of %d animals: %w", added, count, err)
		}
		added, ordered = added+n, ordered+orders
		progress.add(n)
		throttle(ctx, time.Since(batch))
	}
	_, err := fmt.Fprintf(stdout, "added %d animals and %d orders in %s\n", added, ordered, time.Since(start).Round(time.Millisecond))
	return err
}

// throttle leaves the store to other processes for half as long as a batch had it.
// SQLite has no queue of those who wait, they try from time to time: without a gap
// one POST of a hundred took 280 ms beside a seeding process, with this one 40 ms.
func throttle(ctx context.Context, batch time.Duration) {
	gap := time.NewTimer(batch / 2)
	defer gap.Stop()
	select {
	case <-gap.C:
	case <-ctx.Done():
	}
}
