// Package ha_test breaks a PostgreSQL cluster under a running service, and compares the
// responses that clients read with what is stored.
package ha_test

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/petstore/test/harness"
	"example.com/petstore/test/ledger"
)

const writers, readers = 32, 4

// rounds is how often each fault happens: HA_ROUNDS, or 3. HA_FAULT, a regular
// expression, selects faults by name.
func rounds(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv("HA_ROUNDS"), "3"))
	harness.Check(t, err)
	return n
}

func TestNoAcknowledgedWriteIsLostWhenThePrimaryServerDies(t *testing.T) {
	var selected []fault
	for range rounds(t) {
		for _, f := range faults {
			if regexp.MustCompile(os.Getenv("HA_FAULT")).MatchString(f.name) {
				selected = append(selected, f)
			}
		}
	}
	if len(selected) == 0 {
		t.Skip("HA_FAULT selects another test")
	}
	harness.Rand(t).Shuffle(len(selected), func(i, j int) { selected[i], selected[j] = selected[j], selected[i] })
	cluster := startCluster(t)
	service := startService(t, cluster, "PETSTORE_DATABASE_REQUIRE_SYNCHRONOUS=true")
	observed, differences := breakUnderLoad(t, cluster, service, selected)
	if err := differences.Err(); err != nil {
		t.Error(err)
	}
	for _, o := range observed {
		if o.writeGap > o.limit {
			t.Errorf("%s: %v without an acknowledged write, want at most %v", o.name, o.writeGap, o.limit)
		}
		if o.name == nodeKilled.name && (!slices.Contains(o.messages, notReady) || !strings.HasPrefix(o.messages[0], "the store is not available: ")) {
			t.Errorf("%s: /readyz and the metric said %q", o.name, o.messages)
		}
		if len(o.log) > 8 {
			t.Errorf("%s: got %d lines in the logs of the replicas: %s", o.name, len(o.log), strings.Join(o.log, ""))
		}
		for _, text := range append(o.log, o.messages...) {
			if strings.Contains(text, password) || strings.Contains(text, service.key[10:]) {
				t.Errorf("%s: a log or /readyz contains a secret: %s", o.name, text)
			}
		}
	}
	cluster.wantEqualNodes(t)
}

// The settings of an operator who does not read: an asynchronous standby, as Patroni has it by
// default.
func TestAcknowledgedWritesAreLostWithAnAsynchronousStandby(t *testing.T) {
	if os.Getenv("HA_FAULT") != "" && os.Getenv("HA_FAULT") != "asynchronous" {
		t.Skip("HA_FAULT selects another test")
	}
	cluster := startCluster(t, "synchronous_mode: true", "synchronous_mode: false", "synchronous_mode_strict: true", "synchronous_mode_strict: false")
	service := startService(t, cluster)
	var selected []fault
	for range min(rounds(t), 2) {
		selected = append(selected, nodeCutOffAndKilled)
	}
	_, differences := breakUnderLoad(t, cluster, service, selected)
	if len(differences.Lost) == 0 {
		t.Error("no acknowledged write was lost: docs/reliability.md says that some are")
	}
	t.Logf("%d steps lost, %d animals doubled", len(differences.Lost), len(differences.Doubled))
}

// An observation is what happened during and after a fault.
type observation struct {
	fault
	ledger.Counts     // of the requests meanwhile
	writeGap, readGap time.Duration
	log               []string // of both replicas
	messages          []string // of /readyz
}

// breakUnderLoad breaks a cluster and a service one fault after the other, while clients write,
// and compares the store with the ledger. It prints a table.
func breakUnderLoad(t *testing.T, c *cluster, s *service, selected []fault) (observed []observation, differences ledger.Differences) {
	t.Helper()
	book := ledger.New()
	load := ledger.NewClients(book, s.url, s.key)
	load.Uncertain, load.Pause = true, 20*time.Millisecond
	stop, stopReading := load.Start(t.Context(), writers), load.StartReading(t.Context(), readers, 100*time.Millisecond)
	r := &run{cluster: c, service: s, random: harness.Rand(t), writing: func(since time.Time) bool { return len(book.Writes(since)) > 0 }}
	time.Sleep(2 * time.Second)
	for _, f := range selected {
		observed = append(observed, r.observe(t, book, f))
	}
	stopReading()
	stop()
	c.waitUntilHealthy(t)
	load.Retry(t.Context())
	differences, err := book.Check(t.Context(), c.find(t, "/leader").shop, ledger.AtTheEnd, ledger.AtTheEnd)
	harness.Check(t, err)
	t.Log(table(observed))
	return observed, differences
}

// table returns the observations of equal faults as a row of a Markdown table.
func table(observed []observation) string {
	rows := "\n| event | times | acknowledged | refused | unknown | s without a write | s without a read |\n|---|--:|--:|--:|--:|--:|--:|\n"
	for _, f := range faults {
		var sum ledger.Counts
		var writes, reads []float64
		for _, o := range observed {
			if o.name == f.name {
				sum.Acknowledged, sum.Refused, sum.Unknown = sum.Acknowledged+o.Acknowledged, sum.Refused+o.Refused, sum.Unknown+o.Unknown
				writes, reads = append(writes, o.writeGap.Seconds()), append(reads, o.readGap.Seconds())
			}
		}
		if len(writes) > 0 {
			rows += fmt.Sprintf("| %s | %d | %d | %d | %d | %.1f to %.1f | %.1f to %.1f |\n", f.name, len(writes), sum.Acknowledged, sum.Refused, sum.Unknown,
				slices.Min(writes), slices.Max(writes), slices.Min(reads), slices.Max(reads))
		}
	}
	return rows
}

// observe runs one fault.
func (r *run) observe(t *testing.T, book *ledger.Ledger, f fault) observation {
	t.Helper()
	o := observation{fault: f}
	var before [2]int
	stop, messages := make(chan struct{}), make(chan []string, 2)
	for i, replica := range r.service.replicas {
		before[i] = len(replica.logSince(0))
		go func() { messages <- replica.readyMessages(stop) }()
	}
	defer func() {
		if t.Failed() || os.Getenv("HA_LOG") != "" {
			for i, replica := range r.service.replicas {
				t.Logf("%s: %s logged %q", f.name, replica.name, replica.logSince(before[i]))
			}
		}
	}()
	start, counts := time.Now(), book.Counts()
	f.happen(t, r)
	r.cluster.waitUntilHealthy(t)
	mended := time.Now()
	harness.EventuallyWithin(t, time.Minute, "writes are acknowledged after "+f.name, func() bool { return r.writing(mended) })
	for _, replica := range r.service.replicas {
		harness.EventuallyWithin(t, time.Minute, replica.name+" is ready", replica.ready)
	}
	time.Sleep(2 * time.Second)
	o.writeGap, o.readGap = book.Writes(start).LongestGap(start), book.Reads(start).LongestGap(start)
	end := book.Counts()
	o.Counts = ledger.Counts{Acknowledged: end.Acknowledged - counts.Acknowledged, Refused: end.Refused - counts.Refused, Unknown: end.Unknown - counts.Unknown}
	close(stop)
	for i, replica := range r.service.replicas {
		o.log = append(o.log, replica.logSince(before[i])...)
		o.messages = append(o.messages, <-messages...)
	}
	t.Logf("%s: %.1f s, %.1f s without a write, %.1f s without a read, %d log lines, readyz %q",
		f.name, time.Since(start).Seconds(), o.writeGap.Seconds(), o.readGap.Seconds(), len(o.log), o.messages)
	return o
}

// wantEqualNodes expects that the standbys have the rows of the leader.
func (c *cluster) wantEqualNodes(t *testing.T) {
	t.Helper()
	var want string
	leader := c.find(t, "/leader")
	harness.Check(t, leader.shop.QueryRowContext(t.Context(), "SELECT pg_current_wal_lsn()").Scan(&want))
	hashes := map[string]bool{}
	for _, n := range c.nodes {
		harness.EventuallyWithin(t, 30*time.Second, n.name+" has all", func() bool {
			var has bool
			err := n.shop.QueryRowContext(t.Context(), "SELECT NOT pg_is_in_recovery() OR pg_last_wal_replay_lsn() >= $1::pg_lsn", want).Scan(&has)
			return err == nil && has
		})
		var hash string
		harness.Check(t, n.shop.QueryRowContext(t.Context(), `SELECT concat_ws(' ',
			(SELECT md5(string_agg(pets::text, '' ORDER BY id)) FROM pets), (SELECT md5(string_agg(orders::text, '' ORDER BY id)) FROM orders),
			(SELECT md5(string_agg(k::text, '' ORDER BY k::text)) FROM idempotency_keys k), (SELECT versions::text FROM versions))`).Scan(&hash))
		hashes[hash] = true
	}
	if len(hashes) != 1 {
		t.Errorf("the nodes differ: %v", hashes)
	}
}
