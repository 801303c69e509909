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

// watchdogRetry is the interval between a query of the store that timed out and the next query.
const watchdogRetry = time.Second

// feedWatchdog queries the store at an interval of half of WatchdogSec, until ctx ends. It notifies systemd after
// each query that did not time out; without a notification within WatchdogSec, systemd restarts the service. It
// notifies systemd also after a query that returned an error, and for a remote store after a timeout. A restart
// would repair neither a removed file nor a database server that does not respond. It would lose the file, which this
// process still has open, and the caches.
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
