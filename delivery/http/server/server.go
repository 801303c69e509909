// Package server runs the API as a process of its own: the listener and its timeouts, the
// graceful shutdown, the handler during the start, and the health of the process.
package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// Timeouts bound what one connection may take of the server. net/http has none by default.
type Timeouts struct {
	ReadHeader time.Duration
	Read       time.Duration
	Write      time.Duration
	Idle       time.Duration
	// Delay is how long a server that is to stop still accepts connections, for a load
	// balancer to send new ones elsewhere: the system resets those that come just when
	// the listener closes.
	Delay time.Duration
	// Shutdown is how long running requests may take to finish once the server accepts
	// no more connections. More than five seconds: so long does net/http count a silent
	// new connection as busy.
	Shutdown time.Duration
}

const (
	// maxHeader is the size of the largest header in bytes.
	maxHeader = 32 << 10
	// linger is how long the connections of a server that accepts no more stay open
	// without a request, because one may be on its way.
	linger = 500 * time.Millisecond
)

// Serve answers requests until ctx ends, and for t.Delay longer. Then it accepts no
// more connections and returns when the running requests have finished, or with an
// error when they take longer than t.Shutdown. A listener that fails, also during
// t.Delay, ends it in the same way; its error is returned.
//
// A client in the middle of a conversation learns of the end by an answer that asks
// it to close the connection, and not by one that closes under its next request.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, t Timeouts, log *zap.Logger) error {
	errorLog, err := zap.NewStdLogAt(log, zap.WarnLevel)
	if err != nil {
		return err
	}
	var ending atomic.Bool
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if ending.Load() {
				w.Header().Set("Connection", "close")
			}
			handler.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: t.ReadHeader,
		ReadTimeout:       t.Read,
		WriteTimeout:      t.Write,
		IdleTimeout:       t.Idle,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          errorLog,

		DisableGeneralOptionsHandler: true, // OPTIONS * is answered as anything else
	}
	accepting := make(chan error, 1)
	go func() { accepting <- server.Serve(listener) }()
	select {
	case err = <-accepting:
	case <-ctx.Done():
		delayed := time.AfterFunc(t.Delay, func() { _ = listener.Close() })
		defer delayed.Stop()
		if err = <-accepting; errors.Is(err, net.ErrClosed) {
			err = nil
		}
	}
	ending.Store(true)
	return errors.Join(err, shutdown(context.WithoutCancel(ctx), server, t.Shutdown))
}

// shutdown closes the connections of a server that accepts no more, each when its
// request has finished, and all of them after timeout.
func shutdown(ctx context.Context, server *http.Server, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	select {
	case <-time.After(linger):
	case <-ctx.Done():
	}
	if err := server.Shutdown(ctx); err != nil {
		return fmt.Errorf("requests still ran after %s: %w", timeout, errors.Join(err, server.Close()))
	}
	return nil
}
