// Package simulation simulates the commit path: internal/batch, groupcommit and freshness, used as package
// repository uses them. A simulation has up to three processes on a database. The faults of the database
// and all times are drawn from a seed.
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

	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/freshness"
	"example.com/petstore/internal/groupcommit"
	"example.com/petstore/internal/test/testkit"
)

// seeds is the number of seeds of the ordinary test. With as many seeds, test/linearizability finds each
// defect of testdata.
const seeds = 10_000

// TestCommitPath simulates as many seeds as PETSTORE_TEST_SEEDS says. If PETSTORE_TEST_SEED is set, it
// simulates only that seed, and repeats it PETSTORE_TEST_SEEDS times. The history of a seed may differ between
// runs, because the scheduler chooses between goroutines that can run.
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

// number returns the number in an environment variable, or byDefault.
func number(t *testing.T, name string, byDefault uint64) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(cmp.Or(os.Getenv(name), fmt.Sprint(byDefault)), 10, 64)
	testkit.Check(t, err)
	return n
}

// simulate returns the rules that the history of a seed violates, and the history. It returns "" if there
// are none.
func simulate(t *testing.T, seed uint64) (violations string) {
	s := &simulation{seed: seed}
	s.draws = s.newDraws(0)
	s.draws.faults = []float64{0, 0.01, 0.05, 0.2}[s.draws.IntN(4)] // a quarter of the simulations have no fault
	s.remote, s.alters, s.clients = s.draws.chance(0.5), s.draws.chance(0.7), make([][]*write, 1+s.draws.IntN(8))
	defer func() {
		if deadlock := recover(); deadlock != nil { // synctest has found a deadlock
			violations = s.report(deadlock)
		}
	}()
	synctest.Test(t, func(*testing.T) {
		defer time.AfterFunc(time.Hour, func() { // synctest finds no deadlock while a ticker ticks
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

// now returns the time since the beginning of the simulation. It is never zero.
func now() time.Duration { return 1 + time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) }

type simulation struct {
	database
	seed      uint64
	draws     draws
	alters    bool // whether some rows are alterations
	processes []*process
	clients   [][]*write // what each client writes
}

// newDraws returns the draws with a number. They depend only on the seed.
func (s *simulation) newDraws(number int) draws {
	return draws{rand.New(rand.NewPCG(s.seed, uint64(number))), s.draws.faults}
}

// A process is a process that uses the database, with the same parts as repository.Store.
type process struct {
	*database
	engine.Database // nil, because nothing calls its other methods

	draws  draws // the draws for transactions
	tx     *tx   // the current or last transaction
	polls  draws
	polled int         // the number of commits that Poll has seen
	busy   atomic.Bool // whether the connection that writes is in use

	looked   seen
	polledAt time.Duration // when the last Poll returned

	numbers *freshness.Checker
	queue   *groupcommit.Queue[*repositories, *write]
	begun   []time.Duration // the times when the functions of each transaction could begin
	returns []func()        // called when the next write or check returns
	exits   bool            // whether a function has called runtime.Goexit
	closed  time.Duration   // when Close was called, and when it returned
	drained time.Duration

	caches   [2]*cache
	position int64 // the greatest one that a read has returned
}

func (p *process) close() {
	p.closed = now()
	p.queue.Close()
	p.queue.Close() // a second Close does nothing
	p.numbers.Close()
	p.drained = now()
}

// run runs the clients and closes the processes. Sometimes it closes a process while clients use it.
func (s *simulation) run() {
	s.lock = make(chan struct{}, 1)
	for number := range 1 + s.draws.IntN(3) {
		p := &process{database: &s.database, draws: s.newDraws(100 + number), polls: s.newDraws(200 + number), tx: &tx{}}
		p.caches = [2]*cache{{grows: true}, {}}
		p.numbers = freshness.New(p, checkTimeout, true)
		p.queue = groupcommit.NewQueue(p, groupcommit.Options[*repositories, *write]{New: p.newRepositories})
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
		p := s.processes[d.IntN(len(s.processes))]
		d.sleep([...]time.Duration{0, fast, 10 * fast, 10 * fast, slow}[d.IntN(5)])
		if d.chance(0.6) {
			p.read(d, p.caches[d.IntN(2)])
			continue
		}
		w := newWrite(p, d, s.alters && d.chance(0.5), 1000*(i+1)+10*n)
		s.clients[i] = append(s.clients[i], w)
		var call sync.WaitGroup // the goroutine of the call may end by runtime.Goexit
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
