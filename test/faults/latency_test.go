package faults

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"example.com/petstore/test/harness"
)

// latencies are the durations of requests. It is safe for concurrent use.
type latencies struct {
	mu  sync.Mutex
	all []time.Duration
}

func (l *latencies) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, d)
}

// p99 returns the 99th percentile, 0 without requests.
func (l *latencies) p99() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == 0 {
		return 0
	}
	slices.Sort(l.all)
	return l.all[len(l.all)*99/100].Round(10 * time.Microsecond)
}

// read lists animals with n clients until ctx ends, each a hundred times a second at most.
func (s *server) read(ctx context.Context, n int) *latencies {
	l := &latencies{}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n}}
	defer client.CloseIdleConnections()
	var wait sync.WaitGroup
	for range n {
		wait.Go(func() {
			for ticker := time.NewTicker(10 * time.Millisecond); ctx.Err() == nil; <-ticker.C {
				begun := time.Now()
				if status, _, err := s.get(client, "/v1/pets"); err == nil && status == http.StatusOK {
					l.add(time.Since(begun))
				}
			}
		})
	}
	wait.Wait()
	return l
}

// get returns the status and the body of a response that was read whole.
func (s *server) get(client *http.Client, path string) (status int, body string, err error) {
	request, err := s.Request(context.Background(), http.MethodGet, path, "")
	if err != nil {
		return 0, "", err
	}
	return harness.Send(client, request)
}
