package serve

import (
	"context"
	"errors"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"go.uber.org/zap"

	"example.com/petstore/delivery/http/server"
)

// notify sends a state to systemd if the unit of the service has Type=notify (sd_notify(3)).
func notify(state string, log *zap.Logger) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Error("cannot notify systemd", zap.String("state", state), zap.Error(err))
	}
}

// watchdogRetry is how long after a query of the store without an answer the next one begins.
const watchdogRetry = time.Second

// feedWatchdog queries the store until ctx ends, at half of WatchdogSec, and notifies systemd after each query that
// returned in time. Without that systemd restarts the service. A query that returned an error counts, and one of a
// remote store also without an answer: a restart would repair neither a database server that is away nor a file that
// was removed, and would lose what the process still has of that file, or in memory.
func feedWatchdog(ctx context.Context, health *server.Health, remote bool, log *zap.Logger) error {
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil || interval == 0 {
		return err
	}
	for ctx.Err() == nil {
		wait := interval / 2
		if err := health.Check(ctx); !remote && errors.Is(err, context.DeadlineExceeded) {
			wait = min(wait, watchdogRetry)
		} else {
			notify(daemon.SdNotifyWatchdog, log)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	return nil
}
