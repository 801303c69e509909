package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"example.com/petstore/repository/storetest"
)

var errFailure = errors.New("failure")

// statements are two Statements, which return the squares and the names of numbers. They record
// the rows that were sent together, and fail for rows with 13.
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
	return NewStatement(s.Tx, func(_ context.Context, rows []int) (results []R, err error) {
		s.sent = append(s.sent, slices.Clone(rows))
		for _, n := range rows {
			results = append(results, result(n))
		}
		if slices.Contains(rows, 13) {
			err = errFailure
		}
		return results, err
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

func TestRowsThatAreNotCoalescedAreSentAlone(t *testing.T) {
	t.Parallel()
	s := newStatements()
	if err := s.WaitForOthers(); err != nil {
		t.Errorf("got %v without others", err)
	}
	for n := range 2 {
		if got, err := s.squares.Do(t.Context(), n+1); err != nil || got != (n+1)*(n+1) {
			t.Errorf("got %d, %v, want the square of %d", got, err, n+1)
		}
	}
	if _, err := s.squares.Do(t.Context(), 13); !errors.Is(err, errFailure) {
		t.Errorf("got %v, want %v", err, errFailure)
	}
	s.wantSent(t, []int{1}, []int{2}, []int{13})
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

func TestFailureStopsTheFunctionsThatWait(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rows  []int // of the functions, 0 for one that ends
		ended error
		want  error
		sent  [][]int
	}{
		"of a statement": {[]int{1, 13, 2}, nil, errManyRows, [][]int{{1, 13, 2}}},
		"of a function":  {[]int{1, 2, 0}, errFailure, errFailure, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStatements()
			var stopped []int
			err := s.runCoroutines(len(c.rows), func(i int) {
				if c.rows[i] == 0 {
					return
				}
				_, err := s.squares.Do(t.Context(), c.rows[i])
				_, again := s.squares.Do(t.Context(), c.rows[i])
				if errors.Is(err, errStopped) && errors.Is(again, errStopped) {
					stopped = append(stopped, i)
				}
			}, func(int) error { return c.ended })
			storetest.WantError(t, "the error", err, c.want)
			waiting := slices.Index(append(c.rows, 0), 0)
			if len(stopped) != waiting {
				t.Errorf("the functions %v were stopped, want the %d that waited", stopped, waiting)
			}
			s.wantSent(t, c.sent...)
		})
	}
}

// The goroutines of the other functions end, see TestMain.
func TestGoexitOfAFunctionEndsTheOthers(t *testing.T) {
	t.Parallel()
	s := newStatements()
	ended, exited := 0, make(chan struct{})
	go func() {
		defer close(exited)
		_ = s.runCoroutines(3, func(i int) {
			defer func() { ended++ }()
			if i == 1 {
				runtime.Goexit()
			}
			_, _ = s.squares.Do(t.Context(), i)
			runtime.Goexit()
		}, func(int) error { return nil })
		t.Error("runCoroutines returned after a function called runtime.Goexit")
	}()
	<-exited
	if ended != 2 {
		t.Errorf("%d functions ended, want the two that had begun", ended)
	}
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
		}
		for range i {
			_, _ = s.squares.Do(t.Context(), i)
		}
	}, func(i int) error { dirty[i] = s.dirty; return nil })
	storetest.Equal(t, "dirty", []bool{true, false, true, false}, dirty, err)
}
