package linearizability

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/internal/test/enginetest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/followers"
	"example.com/petstore/test/harness"
)

var (
	changes    = flag.Int("changes", 1000, "the least number of changes that followers get")
	operations = flag.Int("operations", 10_000, "the least number of operations of each history")
	planted    = flag.Bool("planted", false, "whether to build petstore with each bug of testdata, and to find it")
	replay     = flag.String("replay", "", "the file of a history to judge again, as an absolute path")
)

func TestMain(m *testing.M) { os.Exit(enginetest.WithDatabases(m).Run()) }

// page returns the path of the page for a history that is impossible, in bin/linearizability.
func page(t *testing.T, prefix string) string {
	t.Helper()
	return absolute(t, filepath.Join("../../bin/linearizability", prefix+filepath.Base(t.Name())+".txt"))
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	testkit.Check(t, err)
	return path
}

func TestHistoriesAreLinearizable(t *testing.T) {
	// One service serves a SQLite file.
	for _, processes := range map[string][]int{enginetest.SQLite: {1}, enginetest.Postgres: {1, 2, 4}}[enginetest.New(t).Driver] {
		t.Run(fmt.Sprintf("%d processes", processes), func(t *testing.T) {
			database := enginetest.New(t)
			s := startService(t, database, processes, "")
			clients := s.clients(t)
			s.run(t, clients, *operations, func() bool { return int(s.faults.Load()) >= len(faults) })
			err := clients.ReadAll(t.Context())
			clients.History.WantPossible(t, page(t, database.Driver+"_"))
			testkit.Check(t, err)
			s.wantCounted(t)
		})
	}
}

func TestReplay(t *testing.T) {
	if *replay == "" {
		t.Skip("-replay FILE judges a stored history again")
	}
	h, err := Load(*replay)
	testkit.Check(t, err)
	h.WantPossible(t, page(t, ""))
}

// TestFollowersGetEveryChange follows the changes with 100 clients. Meanwhile clients and the command seed
// make changes, and the processes are killed, stopped and restarted.
func TestFollowersGetEveryChange(t *testing.T) {
	database := enginetest.New(t)
	processes := map[string]int{enginetest.SQLite: 1, enginetest.Postgres: 4}[database.Driver]
	s := startService(t, database, processes, "", "--set", "changes.streams_per_key=1000")
	clients := s.clients(t)
	clients.Pause = 50 * time.Millisecond // otherwise the followers fall behind, because they use more of the processor
	all := &followers.Followers{URLs: clients.URLs, Key: s.keys[0]}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	all.Follow(ctx, t, 100)
	made := 0
	s.run(t, clients, 500, func() bool {
		if all.Slowest() < made { // otherwise they read most changes after the last fault
			return false
		}
		if made < *changes {
			count := min(*changes-made, 5000)
			args := append([]string{"seed", "--count", strconv.Itoa(count)}, s.flags...)
			if output, err := harness.Command(ctx, s.dir, args...).CombinedOutput(); err != nil {
				t.Errorf("seed: %v: %s", err, output)
			}
			made += count
			return false
		}
		return int(s.faults.Load()) >= len(faults)
	})
	end()
	all.WantAll(t)
	s.wantCounted(t)
	t.Logf("%d faults", s.faults.Load())
}

// TestPlantedBugsAreFound shows that the judge can fail. It builds petstore with each patch of testdata and
// sends requests until a history is impossible.
func TestPlantedBugsAreFound(t *testing.T) {
	if !*planted {
		t.Skip("-planted builds petstore with each bug, which takes a minute each")
	}
	for _, patch := range patches(t, "testdata", 22) {
		database := enginetest.New(t)
		bug := strings.TrimSuffix(filepath.Base(patch), ".patch")
		t.Run(bug, func(t *testing.T) {
			if driver, _, isOfOne := strings.Cut(bug, "-"); isOfOne && driver != database.Driver {
				t.Skip("the bug needs " + driver)
			}
			processes := map[string]int{enginetest.SQLite: 1, enginetest.Postgres: 2}[database.Driver]
			s := startService(t, database, processes, buildWith(t, patch))
			clients := s.clients(t)
			found, path := 0, page(t, database.Driver+"_")
			s.run(t, clients, 500, func() bool {
				all := &History{operations: clients.History.Since(time.Time{})} // commands are running
				err := clients.readChanges(t.Context())
				all.Changes = clients.History.Changes
				problems, checkErr := all.Check(path)
				if err := cmp.Or(err, checkErr); err != nil {
					t.Error(err)
				}
				if len(problems) > 0 {
					found = clients.History.Len()
					t.Log(problems[0])
				}
				return found > 0 || clients.History.Len() >= 300_000
			})
			if found == 0 {
				t.Fatalf("the bug was not found in %s", clients.History)
			}
			t.Logf("found in %d operations", found)
			clients.History.store(t, path)
		})
	}
}

// TestPlantedBugsOfTheSimulationAreFound builds the simulation with each patch of its testdata. The
// simulation must fail.
func TestPlantedBugsOfTheSimulationAreFound(t *testing.T) {
	failed := regexp.MustCompile(`PETSTORE_TEST_SEED=(\d+) .*\n.*`)
	if enginetest.New(t).Driver == enginetest.Postgres {
		t.Skip("the simulation has a database of its own: once suffices")
	}
	for _, patch := range patches(t, "../../internal/simulation/testdata", 20) {
		t.Run(filepath.Base(patch), func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run=^TestCommitPath$", "./internal/simulation")
			cmd.Dir = cloneWith(t, patch)
			output, err := cmd.CombinedOutput()
			if err == nil || !failed.Match(output) {
				t.Fatalf("the simulation does not find it: %v\n%s", err, output)
			}
			t.Logf("with the bug, %s", failed.Find(output))
		})
	}
}

// patches returns the paths of the patches of a folder. It fails the test if their number is not want.
func patches(t *testing.T, folder string, want int) (all []string) {
	t.Helper()
	found, err := filepath.Glob(folder + "/*.patch")
	testkit.Check(t, err)
	if len(found) != want {
		t.Fatalf("got the patches %q, want %d", found, want)
	}
	for _, patch := range found {
		all = append(all, absolute(t, patch))
	}
	return all
}

// TestPlantedBugsApply finds patches that no longer apply after a change of the code.
func TestPlantedBugsApply(t *testing.T) {
	t.Parallel()
	for _, patch := range append(patches(t, "testdata", 22), patches(t, "../../internal/simulation/testdata", 20)...) {
		t.Run(filepath.Base(patch), func(t *testing.T) { run(t, "git", "-C", "../..", "apply", "--check", patch) })
	}
}

// cloneWith returns a folder with the last commit and a patch applied.
func cloneWith(t *testing.T, patch string) (code string) {
	t.Helper()
	code = t.TempDir()
	run(t, "git", "clone", "-q", "../..", code)
	run(t, "git", "-C", code, "apply", patch)
	return code
}

// buildWith returns petstore, built from the last commit with a patch.
func buildWith(t *testing.T, patch string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "petstore")
	run(t, "go", "build", "-C", cloneWith(t, patch), "-tags", "nomsgpack", "-pgo=off", "-o", program, "./cmd/petstore")
	return program
}

func run(t *testing.T, command string, args ...string) {
	t.Helper()
	if output, err := exec.CommandContext(t.Context(), command, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", command, args, err, output)
	}
}

// A service is a store and some processes, which are killed, stopped and started again.
type service struct {
	database  enginetest.Database
	random    *rand.Rand
	dir       string
	flags     []string
	program   string
	keys      []string // with the ids 1, 2 and so on
	processes []*harness.Server
	urls      []atomic.Pointer[string]
	faults    atomic.Int32
	imported  int // how many files were imported, and then corrected
}

func startService(t *testing.T, database enginetest.Database, processes int, program string, flags ...string) *service {
	t.Helper()
	s := &service{
		database: database, random: harness.Rand(t), dir: t.TempDir(), program: program,
		flags:     append(flags, "--set", "database.driver="+database.Driver, "--set", "database.dsn="+database.DSN),
		processes: make([]*harness.Server, processes), urls: make([]atomic.Pointer[string], processes),
	}
	for i := range processes {
		s.start(t, i)
	}
	for _, name := range []string{"till-2", "till-3", "till-4"} {
		s.keys = append(s.keys, harness.PrintedKey(t, s.dir, append([]string{"create", "--name", name}, s.flags...)...))
	}
	return s
}

func (s *service) start(t *testing.T, i int) {
	t.Helper()
	cmd := harness.Command(t.Context(), s.dir, append([]string{"serve", "--first-key", "--set", "log.level=warn"}, s.flags...)...)
	if s.program != "" {
		cmd.Path = s.program
	}
	s.processes[i] = harness.StartCommand(t, cmd)
	if s.keys == nil {
		s.keys = []string{s.processes[i].Key}
	}
	s.urls[i].Store(&s.processes[i].URL)
}

func (s *service) clients(t *testing.T) *Clients {
	t.Helper()
	c := &Clients{History: NewHistory(), Keys: s.keys, Seed: s.random.Uint64()}
	for i := range s.urls {
		c.URLs = append(c.URLs, func() string { return *s.urls[i].Load() })
	}
	return c
}

// run sends requests from 32 clients until the history has n operations and enough returns true. enough is
// called again after each 500 operations more. Meanwhile run disturbs the processes.
func (s *service) run(t *testing.T, clients *Clients, n int, enough func() bool) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	var sending sync.WaitGroup
	t.Cleanup(sending.Wait) // also if disturb ends the test
	sending.Go(func() {
		defer end()
		for clients.Run(ctx, 32, n); ctx.Err() == nil && !enough(); clients.Run(ctx, 32, n) {
			n += 500
		}
	})
	s.disturb(t, clients, ctx.Done())
}

// faults are the faults that disturb injects.
var faults = []string{"SIGKILL", "SIGSTOP", "SIGTERM", "command"}

// disturb kills, stops and restarts random processes, and runs commands beside them, until done. It injects each fault
// once, in random order, and then begins again.
func (s *service) disturb(t *testing.T, clients *Clients, done <-chan struct{}) {
	t.Helper()
	count := map[string]int{}
	defer func() { t.Logf("faults: %v", count) }()
	var left []int // the faults that are left before all begin again
	for ; ; s.faults.Add(1) {
		select {
		case <-done:
			return
		case <-time.After(time.Duration(200+s.random.IntN(1000)) * time.Millisecond):
		}
		if len(left) == 0 {
			left = s.random.Perm(len(faults))
		}
		fault := faults[left[0]]
		left = left[1:]
		count[fault]++
		if fault == "command" {
			clients.OnlyReads.Store(true)
			s.importAndCorrect(t, clients.History)
			time.Sleep(3 * maxAge)
			clients.OnlyReads.Store(false)
			continue
		}
		i := s.random.IntN(len(s.processes))
		p := s.processes[i]
		if fault == "SIGSTOP" {
			p.Signal(t, syscall.SIGSTOP)
			time.Sleep(time.Duration(50+s.random.IntN(1000)) * time.Millisecond)
			p.Signal(t, syscall.SIGCONT)
			continue
		}
		s.urls[i].Store(new(string))
		if fault == "SIGKILL" {
			p.Kill()
		} else {
			p.Stop(t)
		}
		s.wantCounted(t)
		s.start(t, i)
	}
}

// importAndCorrect imports some animals beside the processes, and then corrects some of them. All have the category -1.
func (s *service) importAndCorrect(t *testing.T, h *History) {
	t.Helper()
	const animals, corrected = 3, 2
	s.imported++
	added, corrections := "name,categoryId,status\n", "id,name,categoryId,status\n"
	for i := range animals {
		added += fmt.Sprintf("Imported-%d-%d,-1,available\n", s.imported, i)
	}
	s.command(t, h, added, animals)
	db := s.connect(t)
	for i := range corrected {
		var id int64
		name := fmt.Sprintf("Imported-%d-%d", s.imported, i)
		testkit.Check(t, db.QueryRowContext(t.Context(), "SELECT id FROM pets WHERE category_id = -1 AND name = $1", name).Scan(&id))
		corrections += fmt.Sprintf("%d,%s,-1,sold\n", id, name)
	}
	testkit.Check(t, db.Close())
	s.command(t, h, corrections, corrected, "--update")
}

// command imports a file beside the processes. Each row is a change.
func (s *service) command(t *testing.T, h *History, rows string, changes int, flags ...string) {
	t.Helper()
	harness.WriteFile(t, s.dir, "pets.csv", rows)
	op := Operation{Client: -2, Kind: Command, Changes: changes, Response: Response{Code: ok}, Call: h.now()}
	harness.MustRun(t, s.dir, slices.Concat([]string{"import", "pets.csv"}, flags, s.flags)...)
	op.Return = h.now()
	h.add(op)
}

// connect opens the store. It leaves the WAL of an SQLite file as it is, so that the next process finds what a killed one
// has left.
func (s *service) connect(t *testing.T) *sql.DB {
	t.Helper()
	if s.database.Driver == enginetest.SQLite {
		return harness.OpenSQLite(t, "file:"+s.database.DSN+"?mode=ro&_busy_timeout=5000")
	}
	return s.database.Connect(t)
}

// wantCounted expects that the counts in the store equal its animals. It does not look at a planted bug, which the judge must
// find.
func (s *service) wantCounted(t *testing.T) {
	t.Helper()
	if s.program != "" {
		return
	}
	db := s.connect(t)
	problems, err := CheckCounts(t.Context(), db)
	testkit.Check(t, errors.Join(append(problems, err, db.Close())...))
}
