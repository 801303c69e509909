package http_test

import (
	"context"
	"net/http"
	"testing"

	"go.uber.org/zap"

	"example.com/petstore/delivery/http/server"
)

func TestServeIgnoresErrorOfListenerThatItClosed(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := server.Serve(ctx, brokenListener{loopback(t)}, http.NotFoundHandler(), patient, zap.NewNop()); err != nil {
		t.Errorf("Serve returned %v after a normal shutdown", err)
	}
}
