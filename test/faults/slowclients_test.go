package faults

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/test/harness"
)

// TestMaliciousClientsDoNotSlowDownOthers measures the 99th percentile of other clients alone and
// beside malicious ones, in turns. Its median may double, and what the server uses must come back.
func TestMaliciousClientsDoNotSlowDownOthers(t *testing.T) {
	connections := pick(500, 1000)
	slow := func(args ...string) func(context.Context, *testing.T, *server) {
		return func(ctx context.Context, t *testing.T, s *server) {
			args := append([]string{"-c", fmt.Sprint(connections), "-r", "500", "-l", "60", "-v", "0"}, args...)
			url := map[string]string{"-H": "/v1/pets", "-B": "/v1/pets", "-X": "/openapi.json"}[args[8]]
			output, err := exec.CommandContext(ctx, "slowhttptest", append(args, "-u", s.URL+url)...).CombinedOutput()
			if err != nil && ctx.Err() == nil {
				t.Errorf("slowhttptest: %v %s", err, output)
			}
		}
	}
	for name, attack := range map[string]func(context.Context, *testing.T, *server){
		"slow headers":     slow("-H", "-i", "1"),
		"slow bodies":      slow("-B", "-i", "1", "-f", "application/json"),
		"slow reads":       slow("-X", "-w", "1", "-y", "16", "-n", "5", "-z", "8", "-k", "3"),
		"never reading":    attackers(500, "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n", 4),
		"slow known body":  attackers(500, "POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer KEY\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", 1),
		"idle connections": attackers(pick(2000, 5000), "", 0),
		"busy connections": func(ctx context.Context, _ *testing.T, s *server) { s.busy(ctx, 500) },
	} {
		t.Run(name, func(t *testing.T) {
			folder, l := t.TempDir(), newLedger()
			s := start(t, folder, "")
			pause := pick(time.Second, 5*time.Second)
			var allAlone, allBeside []time.Duration
			before := s.resources(t, folder)
			for turn := range pick(1, 5) {
				allAlone = append(allAlone, s.p99During(t, l, pause, fmt.Sprint("alone", turn)))
				ctx, cancel := context.WithCancel(t.Context())
				var wait sync.WaitGroup
				wait.Go(func() { attack(ctx, t, s) })
				time.Sleep(time.Second)
				allBeside = append(allBeside, s.p99During(t, l, pause, fmt.Sprint("beside", turn)))
				cancel()
				wait.Wait()
			}
			alone, beside := median(allAlone), median(allBeside)
			if beside > limit(alone) {
				t.Errorf("the 99th percentile of other clients is %v, and %v alone", beside, alone)
			}
			after := s.resourcesWithin(t, folder, before)
			s.Stop(t)
			l.wantStore(t, folder)
			figures.add(t, "99th percentile %v alone, %v beside; goroutines %.0f before, %.0f after; descriptors %.0f, %.0f",
				alone, beside, before.goroutines, after.goroutines, before.descriptors, after.descriptors)
		})
	}
}

// limit returns the limit of the 99th percentile beside malicious clients. Short measurements on a
// busy machine differ by more than that.
func limit(alone time.Duration) time.Duration {
	return max(2*alone, pick(time.Second, 10*time.Millisecond))
}

// p99During returns the 99th percentile of the requests of clients that sell and list.
func (s *server) p99During(t *testing.T, l *ledger, d time.Duration, name string) time.Duration {
	t.Helper()
	all := &latencies{}
	c := newClients(l, s, 4)
	c.latency = all.add
	c.failed = func(status int, body string) { t.Errorf("got %d %s", status, body) }
	c.during(t, d, 4, name)
	return all.p99()
}

// resourcesWithin waits until the server uses as many goroutines and descriptors as before.
func (s *server) resourcesWithin(t *testing.T, folder string, before resources) (after resources) {
	t.Helper()
	harness.Client.CloseIdleConnections()
	for begun := time.Now(); time.Since(begun) < 60*time.Second; time.Sleep(100 * time.Millisecond) {
		after = s.resources(t, folder)
		if after.goroutines <= before.goroutines+10 && after.descriptors <= before.descriptors+10 {
			return after
		}
	}
	t.Errorf("the server uses %+v after 60s, and used %+v before", after, before)
	return after
}

// attackers opens n connections with a small buffer, sends a text many times on each, and reads
// nothing.
func attackers(n int, text string, times int) func(context.Context, *testing.T, *server) {
	return func(ctx context.Context, t *testing.T, s *server) {
		text := strings.Repeat(strings.Replace(text, "KEY", s.Key, 1), times)
		for range n {
			dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
				return raw.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
			}}
			conn, err := dialer.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
			if err != nil {
				t.Errorf("a connection was refused: %v", err)
				break
			}
			defer conn.Close()
			if _, err := conn.Write([]byte(text)); err != nil {
				t.Error(err)
			}
		}
		<-ctx.Done()
	}
}

// busy lists animals on n connections, each twice a second, until ctx ends.
func (s *server) busy(ctx context.Context, n int) {
	var wait sync.WaitGroup
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n}}
	defer client.CloseIdleConnections()
	for i := range n {
		wait.Go(func() {
			time.Sleep(time.Duration(i) * time.Millisecond)
			for ticker := time.NewTicker(500 * time.Millisecond); ctx.Err() == nil; {
				_, _, _ = s.get(client, "/v1/pets")
				select {
				case <-ticker.C:
				case <-ctx.Done():
				}
			}
		})
	}
	wait.Wait()
}
