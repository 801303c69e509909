// Package ha_test breaks a PostgreSQL cluster under a running service. It compares the responses that
// clients have read with the stored rows.
package ha_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/followers"
	"example.com/petstore/test/harness"
	"example.com/petstore/test/linearizability"
)

var (
	rounds = flag.Int("rounds", 3, "how often each fault happens")
	only   = flag.String("fault", "", "a regular expression that selects faults by their names")
	stale  = flag.String("stale", "0s", "the setting cache.stale_if_unavailable")
	logs   = flag.String("logs", "", "the folder for the logs of the nodes; those of the replicas are printed")
)

func TestNoAcknowledgedWriteIsLostWhenThePrimaryServerDies(t *testing.T) {
	pattern := regexp.MustCompile(*only)
	selected := slices.DeleteFunc(slices.Repeat(faults, *rounds), func(f fault) bool { return !pattern.MatchString(f.name) })
	if len(selected) == 0 {
		t.Skip("-fault selects another test")
	}
	harness.Rand(t).Shuffle(len(selected), func(i, j int) { selected[i], selected[j] = selected[j], selected[i] })
	cluster := startCluster(t)
	service := startService(t, cluster, "PETSTORE_DATABASE_REQUIRE_SYNCHRONOUS=true")
	observed, history := breakUnderLoad(t, cluster, service, selected)
	problems, err := history.CheckStored(t.Context(), cluster.find(t, "/leader").shop, linearizability.AtTheEnd, linearizability.AtTheEnd, page(t))
	testkit.Check(t, errors.Join(append(problems, err)...))
	for _, n := range cluster.nodes {
		testkit.WaitUntilWithin(t, 30*time.Second, n.name+" has all, too", func() bool {
			problems, err := history.CheckStored(t.Context(), n.shop, linearizability.AtTheEnd, linearizability.AtTheEnd, "")
			return err == nil && len(problems) == 0
		})
	}
	for _, o := range observed {
		if o.writeGap > testkit.Scaled(o.limit) {
			t.Errorf("%s: %v without an acknowledged write, want at most %v", o.name, o.writeGap, testkit.Scaled(o.limit))
		}
		if n := strings.Count(o.log, "\n"); n > 8 {
			t.Errorf("%s: got %d lines in the logs of the replicas: %s", o.name, n, o.log)
		}
		if strings.Contains(o.log, password) || strings.Contains(o.log, service.key[10:]) {
			t.Errorf("%s: a log contains a secret: %s", o.name, o.log)
		}
	}
}

// The operator has not read the documentation: the standby is asynchronous, which is the default of
// Patroni.
func TestAcknowledgedWritesAreLostWithAnAsynchronousStandby(t *testing.T) {
	if *only != "" && *only != "asynchronous" {
		t.Skip("-fault selects another test")
	}
	cluster := startCluster(t, "synchronous_mode: true", "synchronous_mode: false", "synchronous_mode_strict: true", "synchronous_mode_strict: false")
	service := startService(t, cluster)
	_, history := breakUnderLoad(t, cluster, service, slices.Repeat([]fault{nodeCutOffAndKilled}, min(*rounds, 2)))
	lost, err := history.Lost(t.Context(), cluster.find(t, "/leader").shop, linearizability.AtTheEnd)
	testkit.Check(t, err)
	if lost == 0 {
		t.Error("no acknowledged write was lost: docs/reliability.md says that some are")
	}
	t.Logf("%d animals lost; %v", lost, history)
}

// TestHistoryOfFailoversIsLinearizable breaks the cluster in each way, while clients use both replicas and
// followers read the changes of both.
func TestHistoryOfFailoversIsLinearizable(t *testing.T) {
	cluster := startCluster(t)
	service := startService(t, cluster, "PETSTORE_DATABASE_REQUIRE_SYNCHRONOUS=true", "PETSTORE_CHANGES_STREAMS_PER_KEY=1000")
	clients := service.clients(t)
	clients.Pause, clients.URLs = 5*time.Millisecond, nil
	for _, r := range service.replicas {
		clients.URLs = append(clients.URLs, func() string { return "http://" + r.address })
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	all := &followers.Followers{URLs: clients.URLs, Key: service.key}
	all.Follow(ctx, t, 20)
	var sending sync.WaitGroup
	sending.Go(func() { clients.Run(ctx, 16, 10_000_000) })
	r := &run{cluster: cluster, service: service, random: harness.Rand(t), history: clients.History}
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
	clients.History.WantPossible(t, page(t))
	testkit.Check(t, readErr)
	all.WantAll(t)
}

// An observation is what happened during and after a fault.
type observation struct {
	fault
	linearizability.Counts // the outcomes of the requests meanwhile
	writeGap, readGap      time.Duration
	log                    string // the log of both replicas
}

// clients returns clients of the service behind nginx.
func (s *service) clients(t *testing.T) *linearizability.Clients {
	t.Helper()
	c := &linearizability.Clients{
		History: linearizability.NewHistory(), Seed: harness.Rand(t).Uint64(),
		URLs: []func() string{func() string { return s.url }}, Keys: []string{s.key},
	}
	c.History.Uncertain, c.History.Proxied = true, true
	return c
}

// page returns the file for the events of a history that is impossible.
func page(t *testing.T) string {
	t.Helper()
	page, err := filepath.Abs("../../bin/linearizability/failovers.txt")
	testkit.Check(t, err)
	return page
}

// breakUnderLoad injects one fault after the other into a cluster and a service, while clients write. It
// prints a table.
func breakUnderLoad(t *testing.T, c *cluster, s *service, selected []fault) (observed []observation, history *linearizability.History) {
	t.Helper()
	writers, readers := s.clients(t), s.clients(t)
	history, writers.Pause = writers.History, 20*time.Millisecond
	readers.History, readers.OnlyLists, readers.Pause = history, true, 100*time.Millisecond
	stop, stopReading := writers.Start(t.Context(), 32), readers.Start(t.Context(), 4)
	r := &run{cluster: c, service: s, random: harness.Rand(t), history: history}
	time.Sleep(2 * time.Second)
	for _, f := range selected {
		observed = append(observed, r.observe(t, f))
	}
	stopReading()
	stop()
	c.waitUntilHealthy(t)
	t.Log(table(observed))
	return observed, history
}

// table returns a Markdown table with a row for the observations of each fault.
func table(observed []observation) string {
	rows := "\n| event | times | acknowledged | refused | unknown | stale pages | s without a write | s without a read |\n" +
		"|---|--:|--:|--:|--:|--:|--:|--:|\n"
	for _, f := range faults {
		var sum linearizability.Counts
		var writes, reads []float64
		for _, o := range observed {
			if o.name == f.name {
				sum.Acknowledged, sum.Refused, sum.Unknown = sum.Acknowledged+o.Acknowledged, sum.Refused+o.Refused, sum.Unknown+o.Unknown
				sum.Stale += o.Stale
				writes, reads = append(writes, o.writeGap.Seconds()), append(reads, o.readGap.Seconds())
			}
		}
		if len(writes) > 0 {
			rows += fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %.1f to %.1f | %.1f to %.1f |\n", f.name, len(writes),
				sum.Acknowledged, sum.Refused, sum.Unknown, sum.Stale, slices.Min(writes), slices.Max(writes), slices.Min(reads), slices.Max(reads))
		}
	}
	return rows
}

// observe runs one fault. It waits until the cluster is healthy, a write is acknowledged, and the replicas are
// ready.
func (r *run) observe(t *testing.T, f fault) (o observation) {
	t.Helper()
	before := len(r.service.log.String())
	defer func() { o.log = r.service.log.String()[before:] }()
	start := time.Now()
	f.happen(t, r)
	r.cluster.waitUntilHealthy(t)
	mended := time.Now()
	testkit.WaitUntilWithin(t, time.Minute, "writes are acknowledged after "+f.name, func() bool { return r.writing(mended) })
	for _, replica := range r.service.replicas {
		testkit.WaitUntilWithin(t, time.Minute, replica.name+" is ready", func() bool { return replica.process.IsReady(t.Context()) })
	}
	time.Sleep(2 * time.Second)
	since := r.history.Since(start)
	t.Logf("%s: %.1f s", f.name, time.Since(start).Seconds())
	return observation{
		fault: f, Counts: since.Counts(),
		writeGap: r.history.LongestGap(start, since.Acknowledged(false)), readGap: r.history.LongestGap(start, since.Acknowledged(true)),
	}
}
