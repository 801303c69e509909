// Package testkit has checks and functions that wait, for the tests of all packages and of the module test.
package testkit

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Check ends the test if err is not nil. Only the goroutine of the test may call it.
func Check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Equal expects that got equals want, and that errs, which were returned with got, are nil.
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

// WantMessage expects an error whose message is one line that contains all texts.
func WantMessage(t testing.TB, what string, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got the error %v, want one line with %q", what, err, text)
		}
	}
}

// WaitUntil is WaitUntilWithin with a limit of a minute, in which also a busy machine starts a server.
func WaitUntil(t testing.TB, what string, condition func() bool) {
	t.Helper()
	WaitUntilWithin(t, time.Minute, what, condition)
}

// WaitUntilWithin checks a condition every 2 ms until it returns true. After the limit, which is Scaled, it ends
// the test.
func WaitUntilWithin(t testing.TB, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	limit = Scaled(limit)
	for start := time.Now(); !condition(); time.Sleep(2 * time.Millisecond) {
		if time.Since(start) > limit {
			t.Fatalf("waited %v until %s", limit, what)
		}
	}
}

// Scaled returns a limit multiplied by PETSTORE_TEST_SCALE, which a slow machine sets.
func Scaled(limit time.Duration) time.Duration {
	if scale, err := strconv.ParseFloat(os.Getenv("PETSTORE_TEST_SCALE"), 64); err == nil && scale > 0 {
		return time.Duration(float64(limit) * scale)
	}
	return limit
}

// Block blocks the transactions of a store until release is called. do must call wait in a transaction. wait
// returns when release is called. release waits for do, which must return nil.
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

// Concurrently calls fn in n goroutines at once, and returns how often it returned true. The errors of fn must be nil.
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
