package serve

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/coreos/go-systemd/v22/daemon"
	"go.uber.org/zap"

	"example.com/petstore/internal/server"
)

// inherited returns the listener that systemd has passed to the process, or nil if there is none (sd_listen_fds(3)).
func inherited() (net.Listener, error) {
	listeners, err := activation.Listeners()
	switch {
	case err != nil || len(listeners) == 0:
		return nil, err
	case len(listeners) > 1 || listeners[0] == nil:
		return nil, errors.New("systemd has passed something else than one listening socket: leave one ListenStream= in the socket unit")
	}
	return listeners[0], nil
}

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
