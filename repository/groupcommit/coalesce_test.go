package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"example.com/petstore/repository/storetest"
)

// statements are two Statements, which return the squares and the names of numbers. They record
// the rows that were sent together.
type statements struct {
	*Tx
	squares *Statement[int, int]
	names   *Statement[int, string]
	sent    [][]int
}

func newStatements() *statements {
	s := &statements{Tx: &Tx{}}
	s.squares = newStatement(s, func(n int) int { return n * n })
	s.names = newStatement(s, func(n int) string { return fmt.Sprint("number ", n) })
	return s
}

func newStatement[R any](s *statements, result func(int) R) *Statement[int, R] {
	return NewStatement(s.Tx, func(_ context.Context, rows []int) (results []R, _ error) {
		s.sent = append(s.sent, slices.Clone(rows))
		for _, n := range rows {
			results = append(results, result(n))
		}
		return results, nil
	})
}

func (s *statements) wantSent(t *testing.T, want ...[]int) {
	t.Helper()
	storetest.Equal(t, "the rows of the statements", want, s.sent)
}

func TestRowsOfAStatementAreSentTogether(t *testing.T) {
	t.Parallel()
	s := newStatements()
	got := make([]string, 4)
	var ended []int
	err := s.runCoroutines(len(got), func(i int) {
		square, name, err := 0, "", errors.New("no statement")
		if i != 1 {
			square, err = s.squares.Do(t.Context(), i)
		}
		if i > 1 {
			name, err = s.names.Do(t.Context(), square)
		}
		got[i] = fmt.Sprintf("%d %q %v", square, name, err)
	}, func(i int) error { ended = append(ended, i); return nil })
	want := []string{`0 "" <nil>`, `0 "" no statement`, `4 "number 4" <nil>`, `9 "number 9" <nil>`}
	storetest.Equal(t, "results", want, got, err)
	storetest.Equal(t, "the order in which the functions ended", []int{1, 0, 2, 3}, ended)
	s.wantSent(t, []int{0, 2, 3}, []int{4, 9})
}

func TestFunctionWaitsUntilTheOthersHaveEnded(t *testing.T) {
	t.Parallel()
	s := newStatements()
	var ended []int
	err := s.runCoroutines(3, func(i int) {
		if i < 2 {
			_ = s.WaitForOthers()
		}
		for n := range 2 {
			_, _ = s.squares.Do(t.Context(), 10*i+n)
		}
	}, func(i int) error { ended = append(ended, i); return nil })
	storetest.Equal(t, "order", []int{2, 0, 1}, ended, err)
	s.wantSent(t, []int{20}, []int{21}, []int{0}, []int{1}, []int{10}, []int{11})
}

// A function that failed without a change must not be taken for one that changed something,
// because of another that runs while it waits.
func TestChangesBelongToTheFunctionThatMadeThem(t *testing.T) {
	t.Parallel()
	s := newStatements()
	dirty := make([]bool, 4)
	err := s.runCoroutines(len(dirty), func(i int) {
		if i%2 == 0 {
			s.MarkDirty(1)
			s.MarkDirty(0)
		}
		for range i {
			_, _ = s.squares.Do(t.Context(), i)
		}
	}, func(i int) error { dirty[i] = s.dirty; return nil })
	storetest.Equal(t, "dirty", []bool{true, false, true, false}, dirty, err)
}
