package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestSignalledServerLosesNoRequest stops a server in the middle of the
// conversations of many clients. A client may find the door closed when it comes
// anew, but nothing that it sent over an open connection is left without answer.
func TestSignalledServerLosesNoRequest(t *testing.T) {
	t.Parallel()
	for _, delay := range []string{"0s", "1s"} {
		t.Run("delay "+delay, func(t *testing.T) {
			t.Parallel()
			const clients = 64
			folder := t.TempDir()
			s := start(t, folder, "--set", "server.shutdown_delay="+delay)
			var added atomic.Int64
			var wait sync.WaitGroup
			for i := range clients {
				client := &http.Client{Transport: &http.Transport{}}
				wait.Go(func() { s.addUntilRefused(t, client, fmt.Sprint(i), &added) })
			}
			until(t, "all clients converse", func() bool { return added.Load() > 10*clients })
			before := added.Load()
			if err := s.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			wait.Wait()
			if err := s.Wait(); err != nil {
				t.Errorf("the server ended with %v: %s", err, s.log)
			}
			if added.Load() < before+clients {
				t.Errorf("of %d clients only %d were answered after the signal", clients, added.Load()-before)
			}
			again := start(t, folder)
			again.key = s.key
			if found := again.count(t); found != added.Load() {
				t.Errorf("%d pets were answered, %d are in the store", added.Load(), found)
			}
			t.Logf("%d pets were answered, %d of them after the signal", added.Load(), added.Load()-before)
		})
	}
}

// addUntilRefused adds pets, each over the connection of the last one unless the
// server closed that, until no connection is to be had.
func (s *process) addUntilRefused(t *testing.T, client *http.Client, name string, added *atomic.Int64) {
	for {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/pets", strings.NewReader(petBody(name)))
		if err != nil {
			t.Error(err)
			return
		}
		request.Header.Set("Authorization", "Bearer "+s.key)
		request.Header.Set("Content-Type", "application/json")
		status, answer, err := finish(client, request)
		if errors.Is(err, syscall.ECONNREFUSED) {
			return
		}
		if err != nil || status != http.StatusCreated {
			t.Errorf("a request was lost: status %d, %v: %s", status, err, answer)
			return
		}
		added.Add(1)
	}
}

// finish sends a request and reads its answer.
func finish(client *http.Client, request *http.Request) (status int, answer string, err error) {
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// count walks all pets of a server.
func (s *process) count(t *testing.T) (found int64) {
	t.Helper()
	for path := "/v1/pets?limit=100"; path != ""; {
		var page []any
		path = next(t, s, path, &page)
		found += int64(len(page))
	}
	return found
}

func TestServerThatIsToStopIsNotReadyButAnswers(t *testing.T) {
	t.Parallel()
	s, admin := startWithAdmin(t, "--set", "server.shutdown_delay=1s")
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	until(t, "readyz is 503", func() bool {
		status, _, err := s.do(t.Context(), http.MethodGet, "/readyz", "")
		return err == nil && status == http.StatusServiceUnavailable
	})
	for _, path := range []string{"/livez", "/v1/pets"} {
		if status, answer, err := s.do(t.Context(), http.MethodGet, path, ""); err != nil || status != http.StatusOK {
			t.Errorf("%s: %d %s %v", path, status, answer, err)
		}
	}
	if status, _ := fetch(t, admin+"/metrics"); status != http.StatusOK { // who watches wants to see the end
		t.Errorf("/metrics: %d", status)
	}
	if err := s.Wait(); err != nil {
		t.Errorf("the server ended with %v: %s", err, s.log)
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), "--set", "server.shutdown_delay=10m")
	ended := make(chan struct{})
	go func() { defer close(ended); _ = s.Wait() }()
	for {
		// The first one counts once the program has seen it, which nobody can tell from here.
		if err := s.Process.Signal(syscall.SIGINT); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		select {
		case <-ended:
			if state := s.ProcessState.Sys().(syscall.WaitStatus); !state.Signaled() || state.Signal() != syscall.SIGINT {
				t.Errorf("the server ended with %v", s.ProcessState)
			}
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// until waits for something to be so, which it will be soon.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for !so() {
		if ctx.Err() != nil {
			t.Fatalf("waited in vain until %s", what)
		}
		runtime.Gosched()
	}
}
