package service

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

func TestServerServesAfterTheReaderOfItsLogExits(t *testing.T) {
	t.Parallel()
	cmd := harness.Command(t.Context(), t.TempDir(), "serve", "--first-key")
	cmd.Stderr = harness.BrokenPipe(t)
	s := harness.StartCommand(t, cmd)
	s.WantStatus(t, "/v1/pets", http.StatusOK)
	s.Stop(t) // the server logs its shutdown, too
}

func TestServerServesAndStopsWhileItsLogBlocks(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]bool{"read later": true, "never read": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reader, stderr := harness.UnreadPipe(t)
			admin := harness.FreeAddress(t)
			cmd := harness.CommandWithTimeout(t, t.TempDir(), "serve", "--first-key",
				"--set", "admin.address="+admin, "--set", "server.shutdown_timeout=7s")
			cmd.Stderr = stderr
			s := harness.StartCommand(t, cmd)
			count := regexp.MustCompile(`\npetstore_log_dropped_lines_total ([1-9]\d*)\n`)
			var dropped []string
			testkit.WaitUntilWithin(t, harness.CommandTimeout, "a log line was dropped", func() bool {
				for range 1000 {
					s.WantStatus(t, "/none", http.StatusNotFound)
				}
				_, metrics := harness.Get(t, "http://"+admin+"/metrics")
				dropped = count.FindStringSubmatch(metrics)
				return dropped != nil
			})
			if read {
				readUntil(t, reader, stderr, func(log string) bool {
					return strings.Contains(log, fmt.Sprintf(`"msg":"log lines dropped","lines":%s}`, dropped[1]))
				})
			}
			s.Stop(t)
		})
	}
}

func TestFirstKeyIsPrintedWhenStandardOutputIsRead(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]bool{"read later": true, "never read": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reader, stdout := harness.FullPipe(t)
			dir, address := t.TempDir(), harness.FreeAddress(t)
			cmd := harness.CommandWithTimeout(t, dir, "serve", "--first-key", "--set", "server.address="+address)
			cmd.Stdout = stdout
			s := harness.Launch(t, cmd, address)
			testkit.WaitUntil(t, "the log has a warning", func() bool { return strings.Contains(s.Log.String(), "standard output blocks") })
			s.WantStatus(t, "/readyz", http.StatusOK)
			if read {
				readUntil(t, reader, stdout, harness.KeyPattern.MatchString)
				s.Stop(t)
				return
			}
			s.Signal(t, syscall.SIGTERM)
			if err := s.Wait(); s.ProcessState.ExitCode() != 1 ||
				!strings.Contains(s.Log.String(), "the API key was created but not printed: standard output: the write is blocked: revoke it") {
				t.Errorf("got %v and the log %s, want exit code 1 and the error", err, s.Log)
			}
		})
	}
}

// readUntil reads a pipe to its end and waits until condition holds for the text. It closes writer first:
// the process has its own descriptor of the write end.
func readUntil(t *testing.T, reader io.Reader, writer io.Closer, condition func(text string) bool) {
	t.Helper()
	testkit.Check(t, writer.Close())
	var text harness.Buffer
	go func() { _, _ = io.Copy(&text, reader) }()
	testkit.WaitUntil(t, "the text is written", func() bool { return condition(text.String()) })
}

func TestLogDescribesTheServiceWhenItStarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	harness.WriteFile(t, dir, "shop.yaml", "log: {level: info}\n")
	_, err := harness.OpenSQLite(t, harness.StorePath(dir)).ExecContext(t.Context(), "CREATE TABLE vets (id INTEGER)")
	testkit.Check(t, err)
	var build struct{ Version, Commit string }
	testkit.Check(t, json.Unmarshal([]byte(harness.RunOK(t, dir, "version", "--output", "json")), &build))
	for _, args := range [][]string{{"--config", "shop.yaml"}, nil} {
		s := harness.Start(t, dir, args...)
		s.Stop(t)
		var got map[string]any
		testkit.Check(t, json.Unmarshal([]byte(regexp.MustCompile(`(?m)^.*"msg":"serving",.*$`).FindString(s.Log.String())), &got))
		want := map[string]any{
			"level": "info", "time": got["time"], "msg": "serving", "version": build.Version, "commit": build.Commit, "address": s.Address(),
			"store": harness.StorePath(dir), "schema_version": float64(engine.SchemaVersion), "store_created": args != nil,
			"schema_migrated_at": got["schema_migrated_at"], "other_tables": "vets",
		}
		if args != nil {
			want["settings_file"] = filepath.Join(dir, "shop.yaml")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("serve %s (-want +got)\n%s", args, diff)
		}
		if warned := strings.Contains(s.Log.String(), "created the store beside the tables of another program"); warned != (args != nil) {
			t.Errorf("serve %s warns of the tables of another program: %t", args, warned)
		}
	}
}

func TestFirstStartAfterARestoreLogsIt(t *testing.T) {
	t.Parallel()
	dir := harness.NewStore(t)
	harness.MustRun(t, dir, "backup", "monday.db")
	type restore struct {
		At   time.Time
		From string
	}
	start := func() (entry restore, logged bool) {
		s := harness.Start(t, dir)
		s.Stop(t)
		line := regexp.MustCompile(`(?m)^.*"msg":"the store was restored",.*$`).FindString(s.Log.String())
		if line != "" {
			testkit.Check(t, json.Unmarshal([]byte(line), &entry))
		}
		return entry, line != ""
	}
	if entry, logged := start(); logged {
		t.Errorf("a start without a restore logged %v", entry)
	}
	before := time.Now().Add(-time.Second) // the time of a file is that of a tick of the kernel
	harness.MustRun(t, dir, "restore", "monday.db")
	restored := time.Now()
	if entry, _ := start(); entry.From != filepath.Join(dir, "monday.db") || entry.At.Before(before) || entry.At.After(restored) {
		t.Errorf("the first start after the restore logged %v, want the file and the time of the restore", entry)
	}
	if entry, logged := start(); logged {
		t.Errorf("the second start after the restore logged %v again", entry)
	}
}

// A rotated key has a successor already, and an invalid key cannot expire.
func TestMetricsHaveTheTimesWhenValidKeysExpire(t *testing.T) {
	t.Parallel()
	dir := harness.NewStore(t)
	for _, lifetime := range []string{"90d", "30d", "36h", "1s"} { // the keys 1 to 4
		harness.PrintedKey(t, dir, "create", "--name", "till", "--expires", lifetime)
	}
	harness.PrintedKey(t, dir, "create", "--name", "unlimited")
	harness.PrintedKey(t, dir, "rotate", "1", "--overlap", "24h") // the new key has the id 6
	harness.RunOK(t, dir, "keys", "revoke", "2")
	admin := harness.Start(t, dir, "--set", "admin.address=127.0.0.1:0").AdminURL(t)
	got := map[string]time.Duration{} // by key id
	testkit.WaitUntil(t, "the key 4 has expired", func() bool {
		clear(got)
		_, metrics := harness.Get(t, admin+"/metrics")
		samples := regexp.MustCompile(`petstore_key_expiration_timestamp_seconds{key_id="(\d+)"} (\S+)`)
		for _, sample := range samples.FindAllStringSubmatch(metrics, -1) {
			seconds, err := strconv.ParseFloat(sample[2], 64)
			testkit.Check(t, err)
			got[sample[1]] = time.Until(time.UnixMilli(int64(seconds * 1000))).Round(time.Hour)
		}
		return len(got) < 3
	})
	if diff := cmp.Diff(map[string]time.Duration{"3": 36 * time.Hour, "6": 90 * 24 * time.Hour}, got); diff != "" {
		t.Errorf("times by key id (-want +got):\n%s", diff)
	}
}

// The backups are made by other processes. An animal has no status, and one is available.
func TestMetricsDescribeTheStoreAndItsBackups(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := harness.Start(t, dir, "--set", "admin.address=127.0.0.1:0")
	admin := s.AdminURL(t)
	metric := func(series string) float64 {
		t.Helper()
		_, text := harness.Get(t, admin+"/metrics")
		sample := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindStringSubmatch(text)
		if sample == nil {
			t.Fatalf("got no %s in the metrics %s", series, text)
		}
		value, err := strconv.ParseFloat(sample[1], 64)
		testkit.Check(t, err)
		return value
	}
	const succeeded, failed = `petstore_backup_timestamp_seconds{result="succeeded"}`, `petstore_backup_timestamp_seconds{result="failed"}`
	if metric(succeeded) != 0 || metric(failed) != 0 {
		t.Error("got the time of a backup, want 0 before the first one")
	}
	before := float64(time.Now().UnixMilli()) / 1000
	harness.MustRun(t, dir, "backup", "monday.db")
	if at := metric(succeeded); at < before || at > before+3600 || metric(failed) != 0 {
		t.Errorf("got the times %f of a backup that succeeded and %f of one that failed, want one now, and 0", at, metric(failed))
	}
	if _, stderr, code := harness.RunCommand(t, harness.CommandAfter(t.Context(), dir, "ulimit -f 1", "backup", "tuesday.db")); code != 1 {
		t.Errorf("a backup of a file that may not be so large: got code %d, %s, want 1", code, stderr)
	}
	if at := metric(failed); at < metric(succeeded) {
		t.Errorf("got the time %f of a backup that failed, want it after %f", at, metric(succeeded))
	}

	s.AddPet(t, "Rex")
	if status, body, err := s.Post(t.Context(), `{"name":"Tom","categoryId":1,"status":"available"}`); err != nil || status != http.StatusCreated {
		t.Fatal(status, body, err)
	}
	for status, want := range map[string]float64{"none": 1, "available": 1, "pending": 0, "sold": 0} {
		if got := metric(`petstore_pets{status="` + status + `"}`); got != want {
			t.Errorf("got %f animals with the status %s, want %f", got, status, want)
		}
	}
	store, err := os.Stat(harness.StorePath(dir))
	testkit.Check(t, err)
	if got := metric(`petstore_file_bytes{file="store"}`); got != float64(store.Size()) || metric(`petstore_file_bytes{file="wal"}`) == 0 {
		t.Errorf("got %f bytes, want %d, and a WAL that is not empty", got, store.Size())
	}
	if free, size := metric("petstore_disk_free_bytes"), metric("petstore_disk_size_bytes"); free <= 0 || free > size {
		t.Errorf("got %f free bytes of %f", free, size)
	}
	if got := metric(`petstore_build_info{commit="test",version="v0.0.0-test"}`); got != 1 {
		t.Errorf("got the build %f, want 1", got)
	}
}

func TestShutdownExportsTheLastTraces(t *testing.T) {
	t.Parallel()
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	var exported harness.Buffer
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = exported.Write([]byte(r.URL.Path + " "))
		_, _ = io.Copy(&exported, r.Body)
	}))
	t.Cleanup(collector.Close)
	s := harness.Start(t, t.TempDir(), "--set", "log.level=debug", "--set", "tracing.otlp_endpoint="+collector.URL)
	parent := []string{"Traceparent", "00-" + trace + "-00f067aa0ba902b7-01"}
	if status, body, err := s.Post(t.Context(), harness.PetBody("hush"), parent...); err != nil || status != http.StatusCreated {
		t.Fatal(status, body, err)
	}
	for _, path := range []string{"/v1/pets/1", "/v1/pets?x=" + s.Key, "/v1/pets/" + s.Key, "/" + s.Key, "/readyz?" + s.Key} {
		_, _, err := s.Do(t.Context(), http.MethodGet, path, "", append(parent, "User-Agent", s.Key, "Referer", s.Key)...)
		testkit.Check(t, err)
	}
	s.Stop(t)

	id, err := hex.DecodeString(trace)
	testkit.Check(t, err)
	spans, log := exported.String(), s.Log.String()
	for _, want := range []string{"/v1/traces ", string(id), "POST /v1/pets", "GET /v1/pets/:petId", "FROM pets WHERE id"} {
		if !strings.Contains(spans, want) {
			t.Errorf("the exported spans do not contain %q", want)
		}
	}
	for _, secret := range []string{s.Key[9:], "hush"} {
		if strings.Contains(spans, secret) || strings.Contains(log, secret) {
			t.Errorf("the exported spans or the log contain %q", secret)
		}
	}
	if got := strings.Count(log, `"trace_id":"`+trace+`"`); got != 6 {
		t.Errorf("got %d log lines with the trace id, want 6:\n%s", got, log)
	}
}

func TestServerServesWhenTheCollectorRejectsTraces(t *testing.T) {
	t.Parallel()
	collector := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(collector.Close)
	environ := "export OTEL_EXPORTER_OTLP_HEADERS=api-key=hush%TOKEN,hush PETSTORE_TRACING_OTLP_ENDPOINT=" + collector.URL
	s := harness.StartCommand(t, harness.CommandAfter(t.Context(), t.TempDir(), environ, "serve", "--first-key"))
	s.WantStatus(t, "/v1/pets", http.StatusOK)
	s.Stop(t)
	if log := s.Log.String(); !strings.Contains(log, `"msg":"cannot export traces"`) || strings.Contains(log, "hush") {
		t.Errorf("got a log without the error, or with the headers for the collector:\n%s", log)
	}
}
