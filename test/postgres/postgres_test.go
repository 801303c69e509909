package postgres

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/internal/test/postgrestest"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

var server *postgrestest.Server

func TestMain(m *testing.M) { os.Exit(postgrestest.WithServer(m, &server).Run()) }

// usePostgres writes a configuration file to dir, with a new database as the store. It returns the
// arguments that name the file.
func usePostgres(t *testing.T, dir string) []string {
	t.Helper()
	harness.WriteFile(t, dir, "shop.yaml", "database: {dsn: '"+newPostgresDSN(t)+"'}\n")
	return []string{"--config", filepath.Join(dir, "shop.yaml")}
}

// newPostgresDSN returns the DSN of a new database, with a password.
func newPostgresDSN(t *testing.T) string {
	t.Helper()
	return postgrestest.With(server.NewDatabase(t), "password", "hunter2")
}

func TestServiceRunsOnPostgres(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	flags := usePostgres(t, dir)
	if _, stderr, code := harness.Run(t, dir, append([]string{"keys", "list"}, flags...)...); code != 1 ||
		!strings.Contains(stderr, "run petstore "+strings.Join(flags, " ")+" migrate up") {
		t.Errorf("keys list without a store: got code %d, stderr %q", code, stderr)
	}
	s := harness.Start(t, dir, flags...)
	s.AddPet(t, "Rex")
	for _, path := range []string{"/readyz", "/v1/pets/1"} {
		s.WantStatus(t, path, http.StatusOK)
	}
	for _, args := range []string{"seed --count 100", "export pets.csv", "import pets.csv"} {
		if stdout, stderr, code := harness.Run(t, dir, append(strings.Fields(args), flags...)...); code != 0 ||
			!regexp.MustCompile(`^(added|exported) 10[01] animals `).MatchString(stdout) {
			t.Errorf("%s: got code %d, %s%s, want 100 or 101 animals", args, code, stdout, stderr)
		}
	}
	for _, args := range []string{"backup monday.db", "restore monday.db"} {
		if _, stderr, code := harness.Run(t, dir, append(strings.Fields(args), flags...)...); code != 1 || !strings.Contains(stderr, "pg_dump") {
			t.Errorf("%s: got code %d, stderr %q, want pg_dump", args, code, stderr)
		}
	}
	for _, args := range []string{"keys create --name till-1", "keys list", "migrate status", "config"} {
		if stdout, stderr, code := harness.Run(t, dir, append(strings.Fields(args), flags...)...); code != 0 ||
			strings.Contains(stdout+stderr, "hunter2") {
			t.Errorf("%s: got code %d, %s%s, want 0 and no password", args, code, stdout, stderr)
		}
	}
	s.Stop(t)
	if log := s.Log.String(); strings.Contains(log, "hunter2") || !strings.Contains(log, `"store":"petstore_test_`) {
		t.Errorf("got the log %s, want the name of the store without the password", log)
	}
}

// The server of the tests has no standby.
func TestServiceOnPostgresReportsThatThereIsNoSynchronousStandby(t *testing.T) {
	t.Parallel()
	dir, address, admin := t.TempDir(), harness.FreeAddress(t), harness.FreeAddress(t)
	flags := append(usePostgres(t, dir), "--set", "server.address="+address, "--set", "admin.address="+admin)
	harness.MustRun(t, dir, append([]string{"migrate", "up"}, flags...)...)
	key := harness.PrintedKey(t, dir, append([]string{"create", "--name", "till-1"}, flags...)...)
	for _, tc := range []struct {
		required string
		level    string // the level of the line in the log
		added    int    // the status of the response when an animal is added
		ready    string
		metrics  string // a pattern that matches the metrics
	}{
		{
			required: "false",
			level:    "info",
			added:    http.StatusCreated,
			ready:    `{"status":"ready"}`,
			metrics:  `(?s)\npetstore_ready 1\n.*kind="not_synchronous"} 0`,
		},
		{
			required: "true",
			level:    "warn",
			added:    http.StatusServiceUnavailable,
			ready:    "the store is not available: its server has no synchronous standby, which database.require_synchronous demands",
			metrics:  `(?s)\npetstore_ready 0\n.*\npetstore_store_errors_total{kind="not_synchronous"} [1-9]`,
		},
	} {
		args := append([]string{"serve", "--set", "database.require_synchronous=" + tc.required}, flags...)
		s := harness.Launch(t, harness.Command(t.Context(), dir, args...), address)
		s.Key = key
		line := regexp.MustCompile(`\{"level":"` + tc.level + `",.*"no synchronous standby is known"`)
		testkit.WaitUntil(t, "it says so", func() bool { return line.MatchString(s.Log.String()) })
		if status, body, err := s.Post(t.Context(), harness.PetBody("Rex")); err != nil || status != tc.added {
			t.Errorf("required %s: got %d %s %v, want %d", tc.required, status, body, err, tc.added)
		}
		if _, body := harness.Get(t, s.URL+"/readyz"); !strings.Contains(body, tc.ready) {
			t.Errorf("required %s: /readyz returned %s, want %s", tc.required, body, tc.ready)
		}
		if _, metrics := harness.Get(t, "http://"+admin+"/metrics"); !regexp.MustCompile(tc.metrics).MatchString(metrics) {
			t.Errorf("required %s: got the metrics %s, want %s", tc.required, metrics, tc.metrics)
		}
		s.Stop(t)
		if n := len(line.FindAllString(s.Log.String(), -1)); n != 1 {
			t.Errorf("required %s: got %d lines, want one: %s", tc.required, n, s.Log)
		}
	}
}

// TestServiceIsRestartedUntilItsServerIsThere does what systemd does with petstore.service. It starts the
// service again after it has exited with an error, but at most 5 times in 10 s unless StartLimitIntervalSec
// is 0.
func TestServiceIsRestartedUntilItsServerIsThere(t *testing.T) {
	t.Parallel()
	unit, own, dir := harness.ReadFile(t, "../../docs/deploy/petstore.service"), postgrestest.Start(t), t.TempDir()
	dsn := own.NewDatabase(t)
	testkit.Check(t, own.Stop())
	for starts := range 7 {
		if starts == 5 && !strings.Contains(unit, "\nStartLimitIntervalSec=0\n") {
			t.Fatal("systemd starts the service no more")
		}
		_, stderr, code := harness.Run(t, dir, "serve", "--set", "database.dsn="+dsn)
		if code != 1 || !strings.HasSuffix(stderr, ": start the server, or correct the DSN\n") || !strings.Contains(unit, "\nRestart=on-failure\n") {
			t.Fatalf("got code %d and %s, want 1 and what to do", code, stderr)
		}
	}
	testkit.Check(t, own.Start())
	harness.Start(t, dir, "--set", "database.dsn="+dsn).WantStatus(t, "/readyz", http.StatusOK)
}

func TestPagesInMemoryAreSentWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	own, dir := postgrestest.Start(t), t.TempDir()
	s := harness.Start(t, dir, "--set", "database.dsn="+own.NewDatabase(t), "--set", "cache.stale_if_unavailable=1m")
	s.AddPet(t, "Rex")
	list := func(path string) (status int, age, etag, body string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, http.NoBody)
		testkit.Check(t, err)
		request.Header.Set("Authorization", "Bearer "+s.Key)
		response, err := http.DefaultClient.Do(request)
		testkit.Check(t, err)
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		testkit.Check(t, err)
		return response.StatusCode, response.Header.Get("Age"), response.Header.Get("ETag"), string(text)
	}
	_, _, etag, page := list("/v1/pets")
	testkit.Check(t, own.Stop())
	if status, age, tag, body := list("/v1/pets"); status != http.StatusOK || age == "" || tag != "" || body != page {
		t.Errorf("got %d %s with Age %q and ETag %q, want the page %s with an Age alone", status, body, age, tag, page)
	}
	if status, age, _, body := list("/v1/pets?limit=5"); status != http.StatusServiceUnavailable || age != "" {
		t.Errorf("got %d %s with Age %q for a page that is not in memory, want 503", status, body, age)
	}
	if status, body, err := s.Post(t.Context(), harness.PetBody("Tom")); err != nil || status != http.StatusServiceUnavailable {
		t.Errorf("POST: got %d %s %v, want 503", status, body, err)
	}
	testkit.Check(t, own.Start())
	testkit.WaitUntil(t, "the page is fresh again", func() bool {
		status, age, tag, _ := list("/v1/pets")
		return status == http.StatusOK && age == "" && tag == etag
	})
}

func TestProgramWithoutCgoHasPostgresAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "petstore")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/petstore")
	build.Dir = "../.."
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	run := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = os.Environ()
		output, _ := cmd.CombinedOutput() // may exit with 1
		return string(output)
	}
	for _, args := range []string{"keys list", "copy --from shop.db", "backup monday.db", "restore monday.db --force"} {
		const want = "this petstore was built without sqlite, which needs cgo and Unix: " +
			"use one that was built with a C compiler and CGO_ENABLED=1, or "
		if got := run(strings.Fields(args)...); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want that there is no SQLite", args, got)
		}
	}
	if got := run(append([]string{"migrate", "up"}, usePostgres(t, dir)...)...); !strings.Contains(got, "created the store petstore_test_") {
		t.Errorf("with PostgreSQL: got %q", got)
	}
}

func TestKilledCopyToPostgresAndBackBeginsAnew(t *testing.T) {
	t.Parallel()
	dir := harness.SeededStore(t, "40000")
	harness.WriteFile(t, dir, "dsn", newPostgresDSN(t)+"\n")
	var tables []string
	for _, flags := range [][]string{{"--to-file", "dsn"}, {"--from-file", "dsn", "--to", "back.db"}} {
		for lines := 1; lines < 6; lines += 2 {
			cmd := harness.Command(t.Context(), dir, append([]string{"copy"}, flags...)...)
			stderr, ended := harness.StartUntil(t, cmd, "rows are copied",
				func(progress string) bool { return strings.Count(progress, "\n") >= lines })
			_ = cmd.Process.Kill()
			if err := <-ended; err == nil || strings.Contains(stderr.String(), "petstore:") {
				t.Errorf("copy %v: got %v and stderr %q, want it killed", flags, err, stderr)
			}
		}
		stdout := harness.MustRun(t, dir, append([]string{"copy"}, flags...)...)
		if _, copied, _ := strings.Cut(stdout, "\n"); strings.HasPrefix(copied, "pets: 40000 rows, SHA-256 ") &&
			!strings.Contains(stdout, "hunter2") {
			tables = append(tables, copied)
		}
	}
	if len(tables) != 2 || tables[0] != tables[1] {
		t.Errorf("got the tables %q, want the same twice, and no password", tables)
	}
	harness.WantSameExports(t, dir, "back.db")
}
