package storetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
)

// A TxFunc is the argument of InTx.
type TxFunc = func(context.Context, port.Repositories) error

// Adding returns a function that adds a pet.
func Adding(name string) TxFunc {
	return func(ctx context.Context, r port.Repositories) error {
		_, err := r.Pets.Create(ctx, domain.NewPet{Name: name})
		return err
	}
}

// Check ends the test if err is not nil.
func Check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Equal compares want with got, which was returned with errors that must be nil.
func Equal(t testing.TB, what string, want, got any, errs ...error) {
	t.Helper()
	err := errors.Join(errs...)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%s: got the error %v (-want +got)\n%s", what, err, diff)
	}
}

// WantError expects an error that wraps all of want.
func WantError(t testing.TB, what string, err error, want ...error) {
	t.Helper()
	for _, want := range want {
		if !errors.Is(err, want) {
			t.Errorf("%s: got the error %v, want %v", what, err, want)
		}
	}
}

// WantMessage expects an error of one line that contains texts.
func WantMessage(t testing.TB, what string, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got the error %v, want one line with %q", what, err, text)
		}
	}
}

// WantNames expects the pets with these names, in any order.
func WantNames(t testing.TB, s Store, want ...string) {
	t.Helper()
	pets, err := collect(t.Context(), "", s.Pets().Each)
	var got []string
	for _, pet := range pets {
		got = append(got, pet.Name)
	}
	slices.Sort(got)
	Equal(t, "the names of the pets", slices.Sorted(slices.Values(want)), got, err)
}

// WaitUntil waits until a condition holds, for 10 seconds at most.
func WaitUntil(t testing.TB, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for ; !condition(); time.Sleep(time.Millisecond) {
		if ctx.Err() != nil {
			t.Fatal("timed out waiting until " + what)
		}
	}
}

// Block keeps a store from running transactions until release is called. do calls a function in a transaction.
func Block(t testing.TB, do func(wait func()) error) (release func()) {
	t.Helper()
	began, end, result := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		result <- do(func() {
			close(began)
			<-end
		})
	}()
	<-began
	return func() {
		t.Helper()
		close(end)
		Check(t, <-result)
	}
}

// Concurrently calls fn for n callers at once, and returns how often it returned true. Its errors must be nil.
func Concurrently(t testing.TB, n int, fn func(caller int) (bool, error)) (times int) {
	t.Helper()
	results := make(chan bool)
	for caller := range n {
		go func() {
			ok, err := fn(caller)
			if err != nil {
				t.Errorf("caller %d: %v", caller, err)
			}
			results <- ok && err == nil
		}()
	}
	for range n {
		if <-results {
			times++
		}
	}
	return times
}
