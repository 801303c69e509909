package petstore

import (
	"errors"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"example.com/petstore/domain"
)

// TestFirstErrorOfLastUsesIsLogged: with requests that only read, no other error says that
// writes fail.
func TestFirstErrorOfLastUsesIsLogged(t *testing.T) {
	t.Parallel()
	core, log := observer.New(zap.InfoLevel)
	report := logFlushes(zap.New(core))
	failure := domain.Unavailable(errors.New("the disk is full"))
	for i, test := range []struct {
		err    error
		logged int
	}{{nil, 0}, {failure, 1}, {failure, 1}, {nil, 1}, {failure, 2}} {
		if report(test.err); log.Len() != test.logged {
			t.Errorf("after write %d: got %d entries, want %d", i, log.Len(), test.logged)
		}
	}
	for _, entry := range log.All() {
		if entry.Message != "cannot store when API keys were last used" { // also at the end of the service, without a retry
			t.Errorf("got the entry %q", entry.Message)
		}
	}
}
