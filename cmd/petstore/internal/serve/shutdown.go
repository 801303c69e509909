package serve

import (
	"context"
	"os"
	"time"

	"go.uber.org/zap"

	"example.com/petstore/config"
	"example.com/petstore/delivery/http/server"
)

// serverTimeouts returns the timeouts of the HTTP server. It leaves a twentieth of the
// shutdown timeout to what is written after the last request: last uses of keys, store,
// traces and log.
func serverTimeouts(s config.Server) server.Timeouts {
	return server.Timeouts{
		ReadHeader: s.ReadHeaderTimeout, Read: s.ReadTimeout, Write: s.WriteTimeout, Idle: s.IdleTimeout,
		Delay: s.ShutdownDelay, Shutdown: s.ShutdownTimeout - s.ShutdownTimeout/20,
	}
}

// forcedExitLogTime is how long before a forced exit the log entry about it is written.
const forcedExitLogTime = 200 * time.Millisecond

// limitShutdown makes the process exit when ShutdownDelay and ShutdownTimeout have passed
// after ctx ended, whatever it still waits for: a disk, a trace collector or a full pipe.
func limitShutdown(ctx context.Context, s config.Server, log *zap.Logger) {
	limit := s.ShutdownDelay + s.ShutdownTimeout
	context.AfterFunc(ctx, func() {
		time.Sleep(limit - forcedExitLogTime)
		log.Error("shutdown timed out, exiting", zap.Duration("limit", limit))
		_ = log.Sync()
		time.Sleep(forcedExitLogTime * 3 / 4)
		os.Exit(1) //nolint:forbidigo // no caller could end what it waits for
	})
}
