package ha_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/linearizability"
)

// A fault breaks something. It repairs what does not recover by itself.
type fault struct {
	name   string
	limit  time.Duration // the longest time without an acknowledged write
	happen func(*testing.T, *run)
}

// A run is a service on a cluster under load.
type run struct {
	cluster *cluster
	service *service
	history *linearizability.History
	random  *rand.Rand
}

var nodeKilled = fault{"node of the leader killed", 35 * time.Second, func(t *testing.T, r *run) {
	leader := r.cluster.find(t, "/leader")
	leader.signal(syscall.SIGKILL, true)
	testkit.WaitUntilWithin(t, 30*time.Second, "/readyz says that the store is not available", func() bool {
		status, text := request(http.MethodGet, "http://"+r.service.replicas[0].address+"/readyz", "")
		return status == http.StatusServiceUnavailable && strings.Contains(text, "the store is not available: ")
	})
	r.waitUntilWriting(t)
	leader.start(t)
}}

// What the leader has sent to its standbys in the last second never arrives.
var nodeCutOffAndKilled = fault{"node of the leader cut off from the standbys, killed 1 s later", 35 * time.Second, func(t *testing.T, r *run) {
	leader := r.cluster.find(t, "/leader")
	leader.peers.setCut(true)
	time.Sleep(time.Second)
	leader.signal(syscall.SIGKILL, true)
	leader.peers.drop()
	r.waitUntilWriting(t)
	leader.start(t)
}}

var faults = []fault{
	{"PostgreSQL of the leader killed", 15 * time.Second, func(t *testing.T, r *run) {
		r.cluster.find(t, "/leader").signal(syscall.SIGKILL, false)
		r.waitUntilWriting(t)
	}},
	nodeKilled,
	nodeCutOffAndKilled,
	{"node of the leader frozen, thawed after the failover", 35 * time.Second, func(t *testing.T, r *run) {
		leader := r.cluster.find(t, "/leader")
		leader.signal(syscall.SIGSTOP, true)
		r.waitUntilWriting(t)
		leader.signal(syscall.SIGCONT, true)
	}},
	{"switchover", 15 * time.Second, func(t *testing.T, r *run) {
		leader, standby := r.cluster.find(t, "/leader"), r.cluster.find(t, "/synchronous")
		body := fmt.Sprintf(`{"leader":%q,"candidate":%q}`, leader.name, standby.name)
		if status, _ := request(http.MethodPost, "http://"+leader.rest+"/switchover", body); status != http.StatusOK {
			t.Errorf("the switchover returned %d", status)
		}
	}},
	{"synchronous standby killed", 15 * time.Second, func(t *testing.T, r *run) {
		standby := r.cluster.find(t, "/synchronous")
		standby.signal(syscall.SIGKILL, true)
		r.waitUntilWriting(t)
		standby.start(t)
	}},
	{"etcd away for 5 s", 15 * time.Second, func(t *testing.T, r *run) {
		r.cluster.etcd.Kill()
		time.Sleep(5 * time.Second)
		r.cluster.startEtcd(t)
	}},
	{"replica killed", 15 * time.Second, func(t *testing.T, r *run) {
		replica := r.service.replicas[r.random.IntN(2)]
		replica.process.Kill()
		time.Sleep(2 * time.Second)
		r.service.start(t, replica)
	}},
	{"replica frozen while it has the writer's lock, for 5 s", 15 * time.Second, func(t *testing.T, r *run) {
		replica := r.service.replicas[r.random.IntN(2)]
		r.freezeWithLock(t, replica)
		time.Sleep(5 * time.Second)
		signalAll(syscall.SIGCONT, []int{replica.process.Process.Pid})
	}},
	{"network to the leader cut for 6 s", 35 * time.Second, func(t *testing.T, r *run) {
		proxy := r.cluster.find(t, "/leader").proxy
		proxy.setCut(true)
		time.Sleep(6 * time.Second)
		proxy.setCut(false)
	}},
	{"wait for the standby cancelled", 15 * time.Second, func(t *testing.T, r *run) { r.cancelCommit(t) }},
}

// writing reports whether a write was acknowledged since a time.
func (r *run) writing(since time.Time) bool {
	return len(r.history.Since(since).Acknowledged(false)) > 0
}

// waitUntilWriting waits until a write is acknowledged more than a second after the call: by then, everything
// that the leader had sent has arrived. It then waits a second more.
func (r *run) waitUntilWriting(t *testing.T) {
	t.Helper()
	start := time.Now()
	testkit.WaitUntilWithin(t, time.Minute, "a write is acknowledged", func() bool { return r.writing(start.Add(time.Second)) })
	time.Sleep(time.Second)
}

// freezeWithLock freezes a replica while the server waits for the next statement of its transaction. The
// transaction has locked the row of store.
func (r *run) freezeWithLock(t *testing.T, replica *replica) {
	t.Helper()
	db := r.cluster.find(t, "/leader").shop
	ids := []int{replica.process.Process.Pid}
	for start := time.Now(); time.Since(start) < 20*time.Second; time.Sleep(3 * time.Millisecond) {
		signalAll(syscall.SIGSTOP, ids)
		time.Sleep(20 * time.Millisecond) // the statements that the replica has sent arrive and run
		var locked bool
		err := db.QueryRowContext(t.Context(), `SELECT count(*) > 0 FROM pg_stat_activity
			WHERE application_name = $1 AND state = 'idle in transaction'`, replica.name).Scan(&locked)
		if err == nil && locked {
			return
		}
		signalAll(syscall.SIGCONT, ids)
	}
	t.Error("the replica never had the lock when it was frozen")
}

// cancelCommit freezes both standbys, so that commits wait for them. It cancels the waiting commits and
// lets the standbys continue.
func (r *run) cancelCommit(t *testing.T) {
	t.Helper()
	leader := r.cluster.find(t, "/leader")
	for _, n := range r.cluster.nodes {
		if n != leader {
			n.signal(syscall.SIGSTOP, false)
			defer n.signal(syscall.SIGCONT, false)
		}
	}
	cancelled := 0
	for start := time.Now(); cancelled < 3 && time.Since(start) < 3*time.Second; time.Sleep(10 * time.Millisecond) {
		var n int
		err := leader.shop.QueryRowContext(t.Context(), `SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity
			WHERE wait_event = 'SyncRep' AND application_name LIKE 'petstore-%'`).Scan(&n)
		if err == nil {
			cancelled += n
		}
	}
	if cancelled == 0 {
		t.Error("no commit waited for a standby")
	}
}
