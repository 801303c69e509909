package ha_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"example.com/petstore/test/followers"
	"example.com/petstore/test/harness"
	"example.com/petstore/test/linearizability"
)

// TestHistoryOfFailoversIsLinearizable breaks the cluster in each way, while clients use both replicas, and followers read the
// changes of both.
func TestHistoryOfFailoversIsLinearizable(t *testing.T) {
	cluster := startCluster(t)
	service := startService(t, cluster, "PETSTORE_DATABASE_REQUIRE_SYNCHRONOUS=true", "PETSTORE_CHANGES_ENABLED=true", "PETSTORE_CHANGES_STREAMS_PER_KEY=1000")
	clients := &linearizability.Clients{
		History: linearizability.NewHistory(false), Key: service.key, Seed: harness.Rand(t).Uint64(), Pause: 5 * time.Millisecond,
	}
	for _, r := range service.replicas {
		clients.URLs = append(clients.URLs, func() string { return "http://" + r.address })
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	all := &followers.Followers{URLs: clients.URLs, Key: service.key}
	all.Follow(ctx, t, 20)
	var sending sync.WaitGroup
	sending.Go(func() { clients.Run(ctx, 16, 10_000_000) })
	r := &run{cluster: cluster, service: service, random: harness.Rand(t), writing: clients.History.SucceededSince}
	for _, f := range faults {
		time.Sleep(2 * time.Second)
		t.Log(f.name)
		f.happen(t, r)
		cluster.waitUntilHealthy(t)
	}
	time.Sleep(2 * time.Second)
	stop()
	sending.Wait()
	readErr := clients.ReadAll(t.Context())
	page, err := filepath.Abs("../../bin/linearizability/failovers.html")
	harness.Check(t, err)
	clients.History.WantPossible(t, page)
	harness.Check(t, readErr)
	all.WantAll(t)
}
