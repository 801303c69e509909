package main

import (
	"context"
	"time"

	"go.uber.org/zap"

	"example.com/petstore/config"
	"example.com/petstore/delivery/http/server"
)

// timeoutsOf returns the timeouts of the server. A twentieth of the shutdown timeout is
// left for what follows the requests: last uses of keys, store, traces and log.
func timeoutsOf(s config.Server) server.Timeouts {
	return server.Timeouts{
		ReadHeader: s.ReadHeaderTimeout, Read: s.ReadTimeout, Write: s.WriteTimeout, Idle: s.IdleTimeout,
		Delay: s.ShutdownDelay, Shutdown: s.ShutdownTimeout - s.ShutdownTimeout/20,
	}
}

// lastLine is how long before its end the log says that a process is abandoned.
const lastLine = 200 * time.Millisecond

// limitShutdown abandons the command when it has not ended within both shutdown times
// after ctx, whatever it still waits for: a disk, a collector or a reader of its output.
func (in *invocation) limitShutdown(ctx context.Context, s config.Server, log *zap.Logger) {
	limit := s.ShutdownDelay + s.ShutdownTimeout
	context.AfterFunc(ctx, func() {
		time.Sleep(limit - lastLine)
		log.Error("not stopped in time, exiting", zap.Duration("limit", limit))
		_ = log.Sync()
		time.Sleep(lastLine * 3 / 4)
		in.abandon()
	})
}
