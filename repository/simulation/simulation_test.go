// Package simulation simulates the commit path: groupcommit, freshness and sharedquery, put together as package
// repository does, of up to three processes on a database whose faults, and all times, are drawn from a seed.
package simulation

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/repository/engine"
	"example.com/petstore/repository/freshness"
	"example.com/petstore/repository/groupcommit"
)

// seeds is the number of seeds of the ordinary test. In as many, test/linearizability finds each defect of testdata.
const seeds = 10_000

// TestCommitPath simulates PETSTORE_TEST_SEEDS seeds. With PETSTORE_TEST_SEED it simulates this one as often,
// because the scheduler may change the history where several goroutines can run.
func TestCommitPath(t *testing.T) {
	t.Parallel()
	only, last := number(t, "PETSTORE_TEST_SEED", 0), number(t, "PETSTORE_TEST_SEEDS", seeds)
	t.Logf("%d simulations", last)
	var next atomic.Uint64
	for range runtime.GOMAXPROCS(0) {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for n := next.Add(1); n <= last; n = next.Add(1) {
				seed := cmp.Or(only, n)
				if violations := simulate(t, seed); violations != "" {
					next.Store(last)
					t.Fatalf("PETSTORE_TEST_SEED=%d fails:\n%s", seed, violations)
				}
			}
		})
	}
}

// number returns the number in an environment variable.
func number(t *testing.T, name string, byDefault uint64) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(cmp.Or(os.Getenv(name), fmt.Sprint(byDefault)), 10, 64)
	testkit.Check(t, err)
	return n
}

// simulate returns what the history of a seed violates, and the history.
func simulate(t *testing.T, seed uint64) (violations string) {
	s := &simulation{seed: seed}
	s.draws = s.newDraws(0)
	s.draws.faults = []float64{0, 0.01, 0.05, 0.2}[s.draws.IntN(4)] // most of them in few simulations
	s.remote, s.kinds, s.clients = s.draws.chance(0.5), 1+s.draws.IntN(3), make([][]*write, 1+s.draws.IntN(8))
	defer func() {
		if deadlock := recover(); deadlock != nil { // of synctest
			violations = s.report(deadlock)
		}
	}()
	synctest.Test(t, func(*testing.T) {
		defer time.AfterFunc(time.Hour, func() { // there is no deadlock while tickers tick
			panic(fmt.Sprintf("PETSTORE_TEST_SEED=%d fails:\n%s", seed, s.report("a call does not return")))
		}).Stop()
		s.run()
		s.checkWrites()
	})
	if len(s.violations) > 0 {
		return s.report(strings.Join(s.violations, "\n"))
	}
	return ""
}

// now returns the time since the begin of the simulation, which is not zero.
func now() time.Duration { return 1 + time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) }

type simulation struct {
	database
	seed      uint64
	draws     draws
	kinds     int // of rows
	processes []*process
	clients   [][]*write // what each client writes
}

// newDraws returns the draws of a number, which depend on the seed only.
func (s *simulation) newDraws(number int) draws {
	return draws{rand.New(rand.NewPCG(s.seed, uint64(number))), s.draws.faults}
}

// A process has what repository.Store has.
type process struct {
	*database
	engine.Database // nil: panics in the methods that nothing calls

	draws  draws // of the transactions
	tx     *tx   // the current or last one
	polls  draws
	polled int         // commits
	busy   atomic.Bool // the connection that writes is used

	looked   int // the commits that a process of SQLite has seen, and when it looked
	lookedAt time.Duration

	versions *freshness.Versions
	queue    *groupcommit.Queue[repositories, *write]
	begun    []time.Duration // when the functions of a transaction could run
	returns  []func()        // to be called when the next call returns
	closed   time.Duration   // when Close was called, and when it had returned
	drained  time.Duration

	cache [3]entry // of each kind of row
	seen  [3]int   // the most rows that a read has returned
}

func (p *process) close() {
	p.closed = now()
	p.queue.Close()
	p.queue.Close() // does nothing
	p.versions.Close()
	p.drained = now()
}

// run runs the clients, and closes the processes, perhaps one of them while clients use it.
func (s *simulation) run() {
	s.lock = make(chan struct{}, 1)
	for number := range 1 + s.draws.IntN(3) {
		p := &process{database: &s.database, draws: s.newDraws(100 + number), polls: s.newDraws(200 + number), tx: &tx{}}
		p.versions = freshness.New(p, 0)
		p.queue = groupcommit.NewQueue(p, groupcommit.Options{
			Commit: p.versions.Commit,
		}, p.newRepositories, repositories.create)
		s.processes = append(s.processes, p)
	}
	var clients sync.WaitGroup
	for i := range s.clients {
		clients.Go(func() { s.runClient(i, s.newDraws(300+i)) })
	}
	open := s.processes
	if s.draws.chance(0.2) {
		s.draws.sleep(slow)
		open[0].close()
		open = open[1:]
	}
	clients.Wait()
	for _, p := range open {
		p.close()
	}
}

func (s *simulation) runClient(i int, d draws) {
	for n := range 1 + d.IntN(10) {
		p, kind := s.processes[d.IntN(len(s.processes))], d.IntN(s.kinds)
		d.sleep([...]time.Duration{0, fast, 10 * fast, 10 * fast, slow}[d.IntN(5)])
		if d.chance(0.6) {
			p.read(d, kind)
			continue
		}
		w := newWrite(p, d, kind, 1000*(i+1)+10*n)
		s.clients[i] = append(s.clients[i], w)
		var call sync.WaitGroup // its goroutine may end by runtime.Goexit
		call.Go(func() { w.do(d) })
		call.Wait()
	}
}

// report returns a violation and the history.
func (s *simulation) report(violation any) string {
	var text strings.Builder
	fmt.Fprintln(&text, violation)
	for i, writes := range s.clients {
		for _, w := range writes {
			fmt.Fprintf(&text, "client %d, %v\n", i, w)
		}
	}
	return text.String()
}
