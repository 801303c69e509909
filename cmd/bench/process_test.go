package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
	"example.com/petstore/domain/port"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
)

// TestMain makes the test binary run as the program where the program starts itself as
// a reference.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "reference" {
		main()
		os.Exit(0)
	}
	gin.SetMode(gin.TestMode)
	os.Exit(m.Run())
}

func TestStopEndsProcess(t *testing.T) {
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
	p, err := startProcess(t.Context(), address, "key", filepath.Join(folder, "log"), os.Args[0], "reference", "-address", address, "-body", body, "gin")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.get(t.Context(), "/v1/pets?after=1"); err != nil || string(got) != `[{"id":1}]` {
		t.Errorf("got %q, %v", got, err)
	}
	if memory, err := p.pid.resident(); err != nil || memory < 1<<20 {
		t.Errorf("%d bytes of memory, %v", memory, err)
	}
	if _, err := p.pid.cpu(); err != nil {
		t.Error(err)
	}
	p.stop()
	if err := syscall.Kill(int(p.pid), 0); err == nil {
		t.Error("the process still runs")
	}
}

func TestStartErrorContainsOutput(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("taskset"); err != nil {
		t.Fatal(err, "(taskset is of Debian's package util-linux)")
	}
	folder := t.TempDir()
	_, err := startProcess(t.Context(), "127.0.0.1:1", "key", filepath.Join(folder, "log"), os.Args[0], "reference", "-body", os.Args[0], "rails")
	if err == nil || !strings.Contains(err.Error(), `unknown reference "rails"`) {
		t.Errorf("got the error %v", err)
	}
}

func TestStartWaitsForResponse(t *testing.T) {
	t.Parallel()
	requests := 0
	starting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests++; requests < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNotFound) // any other status will do: a reference may have no such route
	}))
	defer starting.Close()
	if err := (&process{host: starting.Listener.Addr().String()}).awaitResponse(t.Context(), nil); err != nil || requests != 3 {
		t.Errorf("%d requests, %v", requests, err)
	}
}

func TestReferencesSendTheSameBytes(t *testing.T) {
	t.Parallel()
	body := strings.Repeat(`{"id":1}`, 1000) // more than net/http sends without chunks by default
	for name, handler := range map[string]http.Handler{"gin": bareGin([]byte(body)), "net/http": netHTTP([]byte(body))} {
		for _, path := range []string{"/v1/pets", "/v1/pets?limit=20&after=7", "/v1/pets/7"} {
			response := serve(t, handler, http.MethodGet, path, "")
			if response.Code != http.StatusOK || response.Body.String() != body {
				t.Errorf("%s %s: %d, %d bytes", name, path, response.Code, response.Body.Len())
			}
			want := http.Header{"Content-Length": {"8000"}, "Content-Type": {"application/json"}}
			if diff := cmp.Diff(want, response.Header()); diff != "" {
				t.Errorf("%s %s: headers (-want +got)\n%s", name, path, diff)
			}
		}
	}
}

func TestGORMReferenceServesStoreOfPetstore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pets.db")
	store, err := repository.Open(t.Context(), sqlite.New(path), repository.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	err = store.InTx(t.Context(), func(ctx context.Context, r port.Repositories) error {
		_, err := r.Pets.Create(ctx, domain.NewPet{Name: "Tom", CategoryID: 3})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := ginAndGORM(path, 2)
	if err != nil {
		t.Fatal(err)
	}
	const (
		tom = `{"id":1,"name":"Tom","categoryId":3}`
		rex = `{"id":2,"name":"Rex","categoryId":7,"status":"available"}`
	)
	for _, test := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/v1/pets", newPet, http.StatusCreated, rex},
		{"POST", "/v1/pets", `{}`, http.StatusBadRequest, ""},
		{"GET", "/v1/pets", "", http.StatusOK, "[" + tom + "," + rex + "]"},
		{"GET", "/v1/pets?limit=1", "", http.StatusOK, "[" + tom + "]"},
		{"GET", "/v1/pets?after=1", "", http.StatusOK, "[" + rex + "]"},
		{"GET", "/v1/pets?after=2", "", http.StatusOK, "[]"},
		{"GET", "/v1/pets?limit=101", "", http.StatusBadRequest, ""},
	} {
		if got := serve(t, handler, test.method, test.path, test.body); got.Code != test.status || got.Body.String() != test.want {
			t.Errorf("%s %s: %d %s, want %d %s", test.method, test.path, got.Code, got.Body, test.status, test.want)
		}
	}
	want := domain.Pet{ID: 2, Name: "Rex", CategoryID: 7, Status: domain.PetAvailable}
	if got, err := store.Pets().Get(t.Context(), 2); err != nil || got != want {
		t.Errorf("stored %v, %v", got, err)
	}
}

func serve(t *testing.T, handler http.Handler, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
	return response
}
