package serve

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"go.uber.org/zap"

	"example.com/petstore"
	"example.com/petstore/config"
)

func TestRunLogsThatItOpensTheStore(t *testing.T) {
	t.Parallel()
	settings, err := config.Load(config.Options{Overrides: map[string]string{"server.address": "127.0.0.1:0", "admin.address": ""}})
	if err != nil {
		t.Fatal(err)
	}
	failure := errors.New("another service serves it")
	var stderr bytes.Buffer
	err = Run(t.Context(), settings, Options{
		Fields: []zap.Field{zap.String("store", "shop.db")}, Stderr: &stderr,
		Open: func(context.Context, petstore.Options) (*petstore.Service, error) { return nil, failure },
	})
	if got := stderr.String(); !errors.Is(err, failure) || !strings.Contains(got, `"msg":"opening the store","store":"shop.db"`) {
		t.Errorf("got the error %v and the log %s", err, got)
	}
}
