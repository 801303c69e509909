package ha_test

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver pgx

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

const password = "hunter2" // the password of all users

// A cluster is three nodes of PostgreSQL under Patroni, with one etcd.
type cluster struct {
	folder string
	nodes  []*node

	etcdAddress, etcdPeerAddress string
	etcd                         *harness.Server
}

// A node is one server of PostgreSQL and its Patroni.
type node struct {
	name    string
	folder  string
	config  string // the configuration file of Patroni
	address string // the address of PostgreSQL
	rest    string // the address of Patroni's REST API
	proxy   *proxy // the service connects through it
	peers   *proxy // the other nodes connect through it
	patroni *harness.Server

	postgres, shop *sql.DB // connected as a superuser
}

// startCluster starts a cluster with docs/deploy/patroni.yml, in which it replaces values as writeFile does.
// It waits until the cluster is healthy. The cluster is removed when the test ends.
func startCluster(t *testing.T, values ...string) *cluster {
	t.Helper()
	folder, err := os.MkdirTemp("", "petstore-ha-") //nolint:usetesting // the path of a Unix socket is short
	testkit.Check(t, err)
	t.Cleanup(func() { testkit.Check(t, os.RemoveAll(folder)) })
	chown(t, folder)
	c := &cluster{folder: folder, etcdAddress: harness.FreeAddress(t), etcdPeerAddress: harness.FreeAddress(t)}
	c.startEtcd(t)
	programs, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // fails only for a bad pattern
	if len(programs) == 0 {
		t.Fatal("found no PostgreSQL: run make deps")
	}
	for i := range 3 {
		name := fmt.Sprint("db", i+1)
		n := &node{name: name, folder: filepath.Join(c.folder, name), address: harness.FreeAddress(t), rest: harness.FreeAddress(t)}
		testkit.Check(t, os.Mkdir(n.folder, 0o700))
		chown(t, n.folder)
		n.proxy, n.peers = newProxy(t, n.address), newProxy(t, n.address)
		n.config = writeFile(t, n.folder, "patroni.yml", "patroni.yml", append([]string{
			"name: db1", "name: " + name,
			"10.0.0.11:8008", n.rest, "listen: 10.0.0.11:5432", "listen: " + n.address,
			"connect_address: 10.0.0.11:5432", "connect_address: " + n.peers.address,
			"[10.0.0.11:2379, 10.0.0.12:2379, 10.0.0.13:2379]", "[" + c.etcdAddress + "]",
			"10.0.0.0/24", "127.0.0.1/32",
			"/var/lib/postgresql/15/shop", n.data(), "/usr/lib/postgresql/15/bin", filepath.Dir(programs[len(programs)-1]),
			"/var/lib/postgresql/.pgpass-patroni", filepath.Join(n.folder, "pgpass"), "/var/run/postgresql", n.folder,
			"SUPERUSER-PASSWORD", password, "REPLICATION-PASSWORD", password, "REWIND-PASSWORD", password,
		}, values...)...)
		n.postgres, n.shop = n.open(t, "postgres"), n.open(t, "shop")
		n.start(t)
		c.nodes = append(c.nodes, n)
	}
	c.waitUntilHealthy(t)
	for _, statement := range []string{"CREATE ROLE petstore LOGIN PASSWORD '" + password + "'", "CREATE DATABASE shop OWNER petstore"} {
		_, err := c.find(t, "/leader").postgres.ExecContext(t.Context(), statement)
		testkit.Check(t, err)
	}
	for _, n := range c.nodes { // the service may connect to a standby first, and would not start without the database
		testkit.WaitUntil(t, n.name+" has the database", func() bool { return n.shop.PingContext(t.Context()) == nil })
	}
	return c
}

func (c *cluster) startEtcd(t *testing.T) {
	t.Helper()
	client, peer := "http://"+c.etcdAddress, "http://"+c.etcdPeerAddress
	c.etcd = startProcess(t, c.folder, nil, "etcd", "--enable-v2", "--data-dir", filepath.Join(c.folder, "etcd"),
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)
}

// dsn returns the connection string of the service. It names all nodes.
func (c *cluster) dsn(name string) string {
	var hosts []string
	for _, n := range c.nodes {
		hosts = append(hosts, n.proxy.address)
	}
	return fmt.Sprintf("postgres://petstore:%s@%s/shop?sslmode=disable&application_name=%s", password, strings.Join(hosts, ","), name)
}

// find waits for a node with a role. A role is a path of Patroni's REST API: /leader for the node that has
// the lock, or /synchronous for a synchronous standby.
func (c *cluster) find(t *testing.T, role string) (found *node) {
	t.Helper()
	testkit.WaitUntilWithin(t, 30*time.Second, "a node has the role "+role, func() bool {
		found = c.with(role)
		return found != nil
	})
	return found
}

// with returns a node with a role, or nil.
func (c *cluster) with(role string) *node {
	for _, n := range c.nodes {
		if status, _ := request(http.MethodGet, "http://"+n.rest+role, ""); status == http.StatusOK {
			return n
		}
	}
	return nil
}

// waitUntilHealthy waits until two standbys stream from the leader. If the leader wants a synchronous
// standby, one must be synchronous, and Patroni must know it. Otherwise Patroni promotes no standby when
// the leader does not respond.
func (c *cluster) waitUntilHealthy(t *testing.T) {
	t.Helper()
	const streaming = `SELECT count(*) = 2 AND (current_setting('synchronous_standby_names') = '' OR bool_or(sync_state IN ('sync', 'quorum')))
		FROM pg_stat_replication WHERE state = 'streaming' AND application_name LIKE 'db%'`
	const asynchronous = `SELECT current_setting('synchronous_standby_names') = ''`
	testkit.WaitUntilWithin(t, 90*time.Second, "all nodes are healthy", func() bool {
		leader := c.with("/leader")
		return leader != nil && leader.queryBool(streaming) && (c.with("/synchronous") != nil || leader.queryBool(asynchronous))
	})
}

func (n *node) data() string { return filepath.Join(n.folder, "data") }

// start starts Patroni, which starts PostgreSQL.
func (n *node) start(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(cmp.Or(*logs, n.folder), n.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	testkit.Check(t, err)
	t.Cleanup(func() { signalAll(syscall.SIGKILL, processesIn(n.data())) })
	n.patroni = startProcess(t, n.folder, log, "patroni", n.config)
}

// signal sends a signal to PostgreSQL, and if whole is set also to Patroni.
func (n *node) signal(signal syscall.Signal, whole bool) {
	if whole {
		signalAll(signal, []int{n.patroni.Process.Pid})
	}
	for range 2 { // PostgreSQL may have started another process meanwhile
		signalAll(signal, processesIn(n.data()))
	}
	if whole && signal == syscall.SIGKILL {
		<-n.patroni.Ended
	}
}

// request returns the status and the body of a response. Without a response, the status is 0.
func request(method, url, body string) (status int, text string) {
	limit := time.Minute
	if method == http.MethodGet {
		limit = 3 * time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	status, text, _ = (&harness.Server{URL: url}).Do(ctx, method, "", body)
	return status, text
}

// open returns a pool of connections to a database of the node, as a superuser.
func (n *node) open(t *testing.T, database string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", fmt.Sprintf("postgres://postgres:%s@%s/%s?sslmode=disable&connect_timeout=1", password, n.address, database))
	testkit.Check(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// queryBool returns the result of a query, or false if the query fails.
func (n *node) queryBool(query string) (result bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = n.postgres.QueryRowContext(ctx, query).Scan(&result)
	return result
}
