package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
)

// TestMain makes the test binary the program when a reference is started, which
// the program starts as itself.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "reference" {
		main()
		os.Exit(0)
	}
	gin.SetMode(gin.TestMode)
	os.Exit(m.Run())
}

func TestServerEndsWhenStopped(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("taskset"); err != nil {
		t.Fatal(err, "(taskset is of Debian's package util-linux)")
	}
	folder := t.TempDir()
	body := filepath.Join(folder, "body.json")
	if err := os.WriteFile(body, []byte(`[{"id":1}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	address, err := freeAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := startServer(t.Context(), address, "key", filepath.Join(folder, "log"), os.Args[0], "reference", "-address", address, "-body", body, "gin")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.get(t.Context(), "/v1/pets?after=1"); err != nil || string(got) != `[{"id":1}]` {
		t.Errorf("got %q, %v", got, err)
	}
	if memory, err := s.resident(); err != nil || memory < 1<<20 {
		t.Errorf("%d bytes of memory, %v", memory, err)
	}
	if _, err := s.cpu(); err != nil {
		t.Error(err)
	}
	s.stop()
	if err := syscall.Kill(int(s.process), 0); err == nil {
		t.Error("the server is still there")
	}
}

func TestServerThatDoesNotStartSaysWhy(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("taskset"); err != nil {
		t.Fatal(err, "(taskset is of Debian's package util-linux)")
	}
	folder := t.TempDir()
	_, err := startServer(t.Context(), "127.0.0.1:1", "key", filepath.Join(folder, "log"), os.Args[0], "reference", "-body", os.Args[0], "rails")
	if err == nil || !strings.Contains(err.Error(), `there is no reference "rails"`) {
		t.Errorf("got the error %v", err)
	}
}

func TestServerThatStartsIsWaitedFor(t *testing.T) {
	t.Parallel()
	asked := 0
	starting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNotFound) // a reference has no such page, but is there
	}))
	defer starting.Close()
	if err := (&server{url: starting.URL}).awaitAnswer(t.Context(), nil); err != nil || asked != 3 {
		t.Errorf("asked %d times, %v", asked, err)
	}
}

func TestReferencesAnswerTheSameBytes(t *testing.T) {
	t.Parallel()
	body := strings.Repeat(`{"id":1}`, 1000) // more than net/http would send without chunks by itself
	for name, handler := range map[string]http.Handler{"gin": bareGin([]byte(body)), "net/http": netHTTP([]byte(body))} {
		for _, path := range []string{"/v1/pets", "/v1/pets?limit=20&after=7", "/v1/pets/7"} {
			answer := serve(t, handler, http.MethodGet, path, "")
			if answer.Code != http.StatusOK || answer.Body.String() != body {
				t.Errorf("%s %s: %d, %d bytes", name, path, answer.Code, answer.Body.Len())
			}
			want := http.Header{"Content-Length": {"8000"}, "Content-Type": {"application/json"}}
			if diff := cmp.Diff(want, answer.Header()); diff != "" {
				t.Errorf("%s %s: headers (-want +got)\n%s", name, path, diff)
			}
		}
	}
}

func TestReferenceAddsAnimals(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	store, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	handler, err := commitEach(path)
	if err != nil {
		t.Fatal(err)
	}
	const rex = `"name":"Rex","categoryId":7,"status":"available"}`
	if answer := serve(t, handler, http.MethodPost, "/v1/pets", "{"+rex); answer.Code != http.StatusCreated || answer.Body.String() != `{"id":1,`+rex {
		t.Errorf("%d: %s", answer.Code, answer.Body)
	}
	want := domain.Pet{ID: 1, Name: "Rex", CategoryID: 7, Status: domain.PetAvailable}
	if got, err := store.Pets().Get(t.Context(), 1); err != nil || got != want {
		t.Errorf("stored %v, %v", got, err)
	}
}

func serve(t *testing.T, handler http.Handler, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
	return answer
}

func TestProcessIsRead(t *testing.T) {
	t.Parallel()
	const stat = "7 (odd) name (x) S 1 7 7 0 -1 4194304 900 0 0 0 123 45 0 0 20 0 9 0 100 1 2"
	if got, err := parseStat(stat); err != nil || got != 1680*time.Millisecond {
		t.Errorf("processor time %v, %v", got, err)
	}
	if got, err := parseStat("7 (name) S 1"); err == nil {
		t.Errorf("processor time %v of too few fields", got)
	}
	if got, err := parseResident("Name:\tpetstore\nVmRSS:\t   32376 kB\nVmSwap:\t 0 kB\n"); err != nil || got != 32376*1024 {
		t.Errorf("memory %d, %v", got, err)
	}
	if got, err := parseResident("Name:\tpetstore\n"); err == nil {
		t.Errorf("memory %d of nothing", got)
	}
}
