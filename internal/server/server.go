// Package server serves the API in a process: Gin engine, timeouts, graceful shutdown, requests during startup,
// liveness and readiness.
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

	rest "example.com/petstore/delivery/http"
)

// Timeouts are the timeouts of a server. net/http has none by default.
type Timeouts struct {
	// ReadHeader, Read, Write and Idle are the timeouts of http.Server with these names.
	ReadHeader time.Duration
	Read       time.Duration
	Write      time.Duration
	Idle       time.Duration
	// Delay is how long the server still accepts connections after the shutdown has begun, so that load balancers notice
	// it. Connections that arrive just when the listener closes are reset.
	Delay time.Duration
	// Shutdown is how long running requests may take after the listener was closed. If it is not longer than 6.6 seconds,
	// Serve may return an error although no request is running: net/http treats a new connection without a request as
	// busy for up to 6 seconds, and looks for idle connections about twice a second.
	Shutdown time.Duration
}

const (
	// maxHeader is the maximum size of a request header in bytes. With HTTP/2 it is headerSlop less, and a field counts as
	// 32 bytes more (RFC 9113, section 6.5.2).
	maxHeader = 32 << 10
	// headerSlop is how many bytes net/http reads beyond http.Server.MaxHeaderBytes.
	headerSlop = 4 << 10
	// maxStreams is the maximum number of concurrent requests on a connection of HTTP/2. RFC 9113, section 6.5.2,
	// recommends at least 100.
	maxStreams = 100
	// idleGrace is how long idle connections stay open after the listener was closed. A client may have sent a request on
	// one of them already.
	idleGrace = 500 * time.Millisecond
)

// Serve serves requests until ctx ends, and for t.Delay after that. Then it closes the listener, waits for the running
// requests, and returns nil. If they take longer than t.Shutdown, it cancels their contexts, closes their connections and
// returns an error. An error of the listener starts the same shutdown; Serve returns it.
//
// After the listener is closed, responses have the header Connection: close, so that clients do not send another
// request on a connection that is about to be closed.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, t Timeouts, log *zap.Logger) error {
	errorLog, err := zap.NewStdLogAt(log, zap.WarnLevel)
	if err != nil {
		return err
	}
	var closing atomic.Bool
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			// A connection must not be used after a request with Transfer-Encoding and Content-Length (RFC 9112, section 6.1).
			// net/http removes the Content-Length, so every request with a Transfer-Encoding counts as one of these.
			if closing.Load() || r.TransferEncoding != nil {
				w.Header().Set("Connection", "close")
			}
			handler.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: t.ReadHeader,
		ReadTimeout:       t.Read,
		WriteTimeout:      t.Write,
		IdleTimeout:       t.Idle,
		MaxHeaderBytes:    maxHeader - headerSlop,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ErrorLog:          errorLog,
		BaseContext:       func(net.Listener) context.Context { return base },

		DisableGeneralOptionsHandler: true, // handler handles OPTIONS *
	}
	rest.EndStreams(server)
	serveErr := make(chan error, 1)
	go func() { serveErr <- server.Serve(listener) }()
	select {
	case err = <-serveErr:
	case <-ctx.Done():
		timer := time.AfterFunc(t.Delay, func() { _ = listener.Close() })
		err = <-serveErr
		// Not every listener returns net.ErrClosed once it is closed.
		if closed := !timer.Stop(); closed || errors.Is(err, net.ErrClosed) {
			err = nil
		}
	}
	closing.Store(true)
	return errors.Join(err, shutdown(context.WithoutCancel(ctx), server, t.Shutdown, cancel))
}

// shutdown closes each connection of a server when its request has finished. If requests still run after timeout,
// it calls cancelRequests, closes all connections and returns an error.
func shutdown(ctx context.Context, server *http.Server, timeout time.Duration, cancelRequests context.CancelCauseFunc) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	select {
	case <-time.After(idleGrace):
	case <-ctx.Done():
	}
	if err := server.Shutdown(ctx); err != nil {
		cancelRequests(err) // called before Close, which would cancel them as if the clients had disconnected
		return fmt.Errorf("requests were still running after %s: %w", timeout, errors.Join(err, server.Close()))
	}
	return nil
}
