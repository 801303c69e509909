package serve

import (
	"context"
	"errors"
	"strings"
	"testing"

	"example.com/petstore"
	"example.com/petstore/config"
	"example.com/petstore/internal/test/testkit"
)

// Otherwise a second service on a file would say nothing for 30 seconds.
func TestRunLogsThatTheStoreIsStillBeingOpened(t *testing.T) {
	t.Parallel()
	settings, err := config.Load(config.Options{Overrides: map[string]string{"server.address": "127.0.0.1:0", "admin.address": ""}})
	testkit.Check(t, err)
	logged, failure := make(lines, 10), errors.New("another service serves it")
	err = Run(t.Context(), settings, Options{Stderr: logged, Open: func(context.Context, petstore.Options) (*petstore.Service, error) {
		for line := range logged {
			if strings.Contains(line, "the store is still being opened") {
				break
			}
		}
		return nil, failure
	}})
	testkit.WantError(t, "Run", err, failure)
}

// lines is an io.Writer that sends what is written.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}
