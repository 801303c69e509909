package postgres

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/test/harness"

	"example.com/petstore/repository/postgres/postgrestest"
)

var server *postgrestest.Server

func TestMain(m *testing.M) { os.Exit(postgrestest.WithServer(m, &server).Run()) }

// usePostgres writes a configuration file to dir whose store is a new database, and returns
// the arguments that name it.
func usePostgres(t *testing.T, dir string) []string {
	t.Helper()
	path := filepath.Join(dir, "shop.yaml")
	harness.Check(t, os.WriteFile(path, []byte("database: {driver: postgres, dsn: '"+newPostgresDSN(t)+"'}\n"), 0o600))
	return []string{"--config", path}
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
	if _, stderr, code := harness.Run(t, dir, append([]string{"keys", "list"}, flags...)...); code != 1 || !strings.Contains(stderr, "run petstore "+strings.Join(flags, " ")+" migrate up") {
		t.Errorf("keys list without a store: got code %d, stderr %q", code, stderr)
	}
	s := harness.Start(t, dir, flags...)
	s.AddPet(t, "Rex")
	for _, path := range []string{"/readyz", "/v1/pets/1"} {
		s.WantStatus(t, path, http.StatusOK)
	}
	for _, args := range []string{"seed --count 100", "export pets.csv", "import pets.csv"} {
		if stdout, stderr, code := harness.Run(t, dir, append(strings.Fields(args), flags...)...); code != 0 || !strings.Contains(stdout, "10") {
			t.Errorf("%s: got code %d, %s%s, want 100 or 101 animals", args, code, stdout, stderr)
		}
	}
	for _, args := range []string{"keys create --name till-1", "keys list", "migrate status", "config"} {
		if stdout := harness.RunOK(t, dir, append(strings.Fields(args), flags...)...); strings.Contains(stdout, "hunter2") {
			t.Errorf("%s printed the password", args)
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
	const reason = "the store is not available: its server has no synchronous standby, which database.require_synchronous demands"
	dir := t.TempDir()
	flags := append(usePostgres(t, dir), "--set", "admin.address="+harness.FreeAddress(t))
	for required, want := range map[string]string{"false": `{"status":"ready"}`, "true": reason} {
		s := harness.Launch(t, harness.Command(t.Context(), dir, append([]string{"serve", "--set", "database.require_synchronous=" + required}, flags...)...), "")
		address := regexp.MustCompile(`"serving".*"address":"([^"]*)"`)
		harness.Eventually(t, "it serves", func() bool { return address.MatchString(s.Log.String()) })
		s.URL = "http://" + address.FindStringSubmatch(s.Log.String())[1]
		if _, body := harness.Get(t, s.URL+"/readyz"); !strings.Contains(body, want) {
			t.Errorf("required %s: /readyz returned %s, want %s", required, body, want)
		}
		_, metrics := harness.Get(t, "http://"+strings.TrimPrefix(flags[len(flags)-1], "admin.address=")+"/metrics")
		if ready := map[string]string{"false": "petstore_ready 1", "true": "petstore_ready 0"}[required]; !strings.Contains(metrics, ready) {
			t.Errorf("required %s: the metrics lack %s", required, ready)
		}
		const warning = `"the database server has no synchronous standby"`
		harness.Eventually(t, "it warns", func() bool { return strings.Contains(s.Log.String(), warning) })
		s.Stop(t)
		if n := strings.Count(s.Log.String(), warning); n != 1 {
			t.Errorf("required %s: got %d warnings, want one: %s", required, n, s.Log)
		}
	}
}

func TestBackupOfPostgresStoreNamesItsTools(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, command := range []string{"backup", "restore"} {
		_, stderr, code := harness.Run(t, dir, command, "monday.db", "--set", "database.driver=postgres", "--set", "database.dsn=host=db")
		if code != 1 || !strings.Contains(stderr, "pg_dump") {
			t.Errorf("%s: got code %d, stderr %q, want pg_dump", command, code, stderr)
		}
	}
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
		if got := run(strings.Fields(args)...); !strings.Contains(got, "this petstore was built without sqlite, which needs cgo: use one that was built with a C compiler and CGO_ENABLED=1, or ") {
			t.Errorf("%s: got %q, want that there is no SQLite", args, got)
		}
	}
	if got := run(append([]string{"migrate", "up"}, usePostgres(t, dir)...)...); !strings.Contains(got, "created the store petstore_test_") {
		t.Errorf("with PostgreSQL: got %q", got)
	}
}
