package http

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"go.uber.org/zap"
)

// Timeouts bound what one connection may take of the server. net/http has none by default.
type Timeouts struct {
	ReadHeader time.Duration
	Read       time.Duration
	Write      time.Duration
	Idle       time.Duration
	// Shutdown is how long running requests may take to finish. More than five
	// seconds: so long does net/http count a silent new connection as busy.
	Shutdown time.Duration
}

// maxHeader is the size of the largest header in bytes.
const maxHeader = 32 << 10

// Serve answers requests until ctx ends, then accepts no more and returns when the
// running ones have finished, or with an error when they take too long.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, t Timeouts, log *zap.Logger) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: t.ReadHeader,
		ReadTimeout:       t.Read,
		WriteTimeout:      t.Write,
		IdleTimeout:       t.Idle,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          zap.NewStdLog(log),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()

	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.Shutdown)
	defer cancel()
	if err := server.Shutdown(ending); err != nil {
		return fmt.Errorf("requests still ran after %s: %w", t.Shutdown, errors.Join(err, server.Close()))
	}
	return nil
}
