package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"example.com/petstore/repository/storetest"
)

// statements are two Statements, with what they have sent and the functions that have ended.
type statements struct {
	*Tx
	a, b        *Statement[int, string]
	sent        []string
	ended, made []int // functions, and those of them that made a change
}

func newStatements() *statements {
	s := &statements{Tx: &Tx{}}
	statement := func(name string) *Statement[int, string] {
		return NewStatement(s.Tx, func(_ context.Context, rows []int) (results []string, _ error) {
			s.sent = append(s.sent, fmt.Sprint(name, rows))
			for _, row := range rows {
				results = append(results, fmt.Sprint(name, row))
			}
			return results, nil
		})
	}
	s.a, s.b = statement("a"), statement("b")
	return s
}

// run runs n functions.
func (s *statements) run(t *testing.T, n int, function func(i int)) {
	t.Helper()
	storetest.Check(t, s.runCoroutines(n, function, func(i int) error {
		s.ended = append(s.ended, i)
		if s.dirty {
			s.made = append(s.made, i)
		}
		return nil
	}))
}

func TestRowsOfAStatementAreSentTogether(t *testing.T) {
	t.Parallel()
	s := newStatements()
	got := make([]string, 4)
	s.run(t, len(got), func(i int) {
		a, b, err := "", "", errors.New("no statement")
		if i != 1 {
			a, err = s.a.Do(t.Context(), i)
		}
		if i > 1 {
			b, err = s.b.Do(t.Context(), 10*i)
		}
		got[i] = fmt.Sprintln(a, b, err)
	})
	storetest.Equal(t, "results", []string{"a0  <nil>\n", "  no statement\n", "a2 b20 <nil>\n", "a3 b30 <nil>\n"}, got)
	storetest.Equal(t, "the order in which the functions ended", []int{1, 0, 2, 3}, s.ended)
	storetest.Equal(t, "the statements", []string{"a[0 2 3]", "b[20 30]"}, s.sent)
}

func TestFunctionWaitsUntilTheOthersHaveEnded(t *testing.T) {
	t.Parallel()
	s := newStatements()
	s.run(t, 3, func(i int) {
		if i < 2 {
			_ = s.WaitForOthers()
		}
		for n := range 2 {
			_, _ = s.a.Do(t.Context(), 10*i+n)
		}
	})
	storetest.Equal(t, "the order in which the functions ended", []int{2, 0, 1}, s.ended)
	storetest.Equal(t, "the statements", []string{"a[20]", "a[21]", "a[0]", "a[1]", "a[10]", "a[11]"}, s.sent)
}

// A function that failed without a change must not be taken for one that changed something,
// because of another that runs while it waits.
func TestChangesBelongToTheFunctionThatMadeThem(t *testing.T) {
	t.Parallel()
	s := newStatements()
	s.run(t, 4, func(i int) {
		if i%2 == 0 {
			s.MarkDirty(1)
			s.MarkDirty(0)
		}
		for range i {
			_, _ = s.a.Do(t.Context(), i)
		}
	})
	storetest.Equal(t, "the functions that made a change", []int{0, 2}, s.made)
}
