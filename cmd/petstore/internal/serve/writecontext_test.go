package serve

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
)

// A doneAfterWrite is a context that ends as soon as all other goroutines are blocked or
// have returned.
type doneAfterWrite struct{ context.Context }

func (c doneAfterWrite) Done() <-chan struct{} {
	synctest.Wait()
	return c.Context.Done()
}

func TestWriteContextReturnsNilForFinishedWriteWhenContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 100 { // select chooses at random
			if err := WriteContext(doneAfterWrite{ctx}, io.Discard, "text"); err != nil {
				t.Fatal(err)
			}
		}
	})
}
