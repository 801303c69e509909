package faults

import (
	"bufio"
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

func TestMaliciousClientsDoNotSlowDownOthers(t *testing.T) {
	slow := func(path string, args ...string) func(context.Context, *testing.T, *server) {
		return func(ctx context.Context, t *testing.T, s *server) {
			args := append([]string{"-c", fmt.Sprint(pick(500, 1000)), "-r", "500", "-l", "60", "-v", "0", "-u", s.URL + path}, args...)
			if output, err := exec.CommandContext(ctx, "slowhttptest", args...).CombinedOutput(); err != nil && ctx.Err() == nil {
				t.Errorf("slowhttptest: %v %s", err, output)
			}
		}
	}
	for name, attack := range map[string]func(context.Context, *testing.T, *server){
		"slow headers":  slow("/v1/pets", "-H", "-i", "1"),
		"slow bodies":   slow("/v1/pets", "-B", "-i", "1", "-f", "application/json"),
		"slow reads":    slow("/openapi.json", "-X", "-w", "1", "-y", "16", "-n", "5", "-z", "8", "-k", "3"),
		"never reading": attackers(500, "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n", 4),
		"slow known body": attackers(500,
			"POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer KEY\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", 1),
		"idle connections": attackers(pick(2000, 5000), "", 0),
		"busy connections": func(ctx context.Context, t *testing.T, s *server) {
			stop := newLoad(t).to(s).startReading(t, 500, 500*time.Millisecond)
			<-ctx.Done()
			stop()
		},
	} {
		t.Run(name, func(t *testing.T) { start(t, t.TempDir(), "").wantOthersAsFast(t, attack) })
	}
}

// TestStreamsOfTheOldestChangesDoNotSlowDownOthers reads several streams from the oldest change, all with one
// key that may only read. A stream that has sent all changes is requested again.
func TestStreamsOfTheOldestChangesDoNotSlowDownOthers(t *testing.T) {
	for _, streams := range []int{2, 10} {
		t.Run(fmt.Sprint(streams), func(t *testing.T) {
			s, backlog := start(t, t.TempDir(), ""), pick(100_000, 400_000)
			harness.WriteFile(t, s.folder, "pets.csv", "name,categoryId,status\n"+strings.Repeat("Rex,-1,\n", backlog))
			harness.MustRun(t, s.folder, "import", "pets.csv")
			key := harness.PrintedKey(t, s.folder, "create", "--name", "copy", "--read-only")
			s.wantOthersAsFast(t, func(ctx context.Context, t *testing.T, s *server) {
				var wait sync.WaitGroup
				for range streams {
					wait.Go(func() {
						for ctx.Err() == nil {
							s.follow(ctx, t, key, backlog)
						}
					})
				}
				wait.Wait()
			})
		})
	}
}

// follow reads a number of changes from a stream that begins with the oldest change.
func (s *server) follow(ctx context.Context, t *testing.T, key string, changes int) {
	request, err := s.Request(ctx, http.MethodGet, "/v1/changes", "", "Authorization", "Bearer "+key, "Accept", "text/event-stream")
	if err != nil {
		t.Error(err)
		return
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); changes > 0 && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data: ") {
			changes--
		}
	}
}

// wantOthersAsFast measures the 99th percentile of other clients, alone and beside an attack, in turns. The
// median beside the attack may be twice the median alone, or 10 ms (1 s with -short). After the attack, the
// server must release the resources that it used.
func (s *server) wantOthersAsFast(t *testing.T, attack func(context.Context, *testing.T, *server)) {
	t.Helper()
	l := newLoad(t)
	p99 := func() time.Duration { return l.to(s).During(t.Context(), pick(time.Second, 5*time.Second), 4).P99() }
	var allAlone, allBeside []time.Duration
	before, most := s.resources(t), 0.0
	for range pick(1, 5) {
		allAlone = append(allAlone, p99())
		ctx, cancel := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		wait.Go(func() { attack(ctx, t, s) })
		time.Sleep(time.Second)
		allBeside = append(allBeside, p99())
		most = max(most, s.resources(t)[memory])
		cancel()
		wait.Wait()
	}
	alone, beside := median(allAlone), median(allBeside)
	if beside > max(2*alone, pick(time.Second, 10*time.Millisecond)) { // short measurements differ more on a busy machine
		t.Errorf("the 99th percentile of other clients is %v, and %v alone", beside, alone)
	}
	after := s.resourcesWithin(t, before)
	s.stop(t, l)
	if l.History.Unavailable() > 0 {
		t.Errorf("got %d responses with 503, want none", l.History.Unavailable())
	}
	t.Logf("99th percentile %v alone, %v beside: %v and %v; goroutines %.0f before, %.0f after; descriptors %.0f, %.0f; MiB %.0f, at most %.0f",
		alone, beside, allAlone, allBeside, before[goroutines], after[goroutines], before[descriptors], after[descriptors], before[memory], most)
}

// attackers opens n connections with a small buffer, sends a text many times on each, and reads nothing.
func attackers(n int, text string, times int) func(context.Context, *testing.T, *server) {
	return func(ctx context.Context, t *testing.T, s *server) {
		text := strings.Repeat(strings.Replace(text, "KEY", s.Key, 1), times)
		for range n {
			dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
				return raw.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
			}}
			conn, err := dialer.Dial("tcp", s.Address())
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
