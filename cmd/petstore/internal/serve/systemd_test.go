package serve

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"example.com/petstore/internal/server"
	"example.com/petstore/internal/test/testkit"
)

// The socket stands for the socket of systemd. The test is not parallel, because it sets environment
// variables.
func TestWatchdogIsFedUnlessAQueryHasNoAnswer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify.sock")
	systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	testkit.Check(t, err)
	defer func() { _ = systemd.Close() }()
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", "200000")
	var queries atomic.Int64
	health := server.NewHealth(func(context.Context) error {
		switch queries.Add(1) {
		case 2:
			return errors.New("connection refused")
		case 3:
			return context.DeadlineExceeded
		}
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- feedWatchdog(ctx, health, false, zap.NewNop()) }()
	testkit.Check(t, systemd.SetReadDeadline(time.Now().Add(testkit.Scaled(10*time.Second))))
	for _, after := range []int64{1, 2, 4} {
		message := make([]byte, 100)
		n, err := systemd.Read(message)
		if got := string(message[:n]); err != nil || got != "WATCHDOG=1" || queries.Load() < after {
			t.Errorf("got %q and %v after %d queries, want WATCHDOG=1 after %d", got, err, queries.Load(), after)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("got %v at the end, want nil", err)
	}
}
