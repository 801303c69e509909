package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var kills = flag.Int("kills", 2, "how often TestKilledServerLosesNoAcknowledgedPet kills the server")

func TestKilledServerLosesNoAcknowledgedPet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	acked := &acknowledgedPets{bodies: map[string]bool{}}
	key := ""
	for kill := range *kills {
		s := startServer(t, dir)
		s.key = cmp.Or(key, s.key)
		key = s.key
		s.killUnderLoad(t, acked, fmt.Sprint(kill))
	}

	last := startServer(t, dir)
	last.key = key
	stored, names := map[string]int{}, map[string]int{} // by body, by name
	for path := "/v1/pets?limit=100"; path != ""; {
		var page []json.RawMessage
		path = nextPage(t, last, path, &page)
		for _, body := range page {
			var pet struct{ Name string }
			if err := json.Unmarshal(body, &pet); err != nil {
				t.Fatal(err)
			}
			stored[string(body)]++
			if names[pet.Name]++; names[pet.Name] > 1 { // each was sent once
				t.Errorf("got %d pets with the name %s, want 1", names[pet.Name], pet.Name)
			}
		}
	}
	for pet := range acked.bodies {
		if stored[pet] != 1 {
			t.Errorf("%s was acknowledged: got it %d times, want once", pet, stored[pet])
		}
	}
	t.Logf("%d kills, %d acknowledged pets, %d stored pets", *kills, len(acked.bodies), len(stored))
}

// acknowledgedPets are the bodies of the 201 responses that clients received: id, name and
// category of a pet.
type acknowledgedPets struct {
	mu     sync.Mutex
	bodies map[string]bool
}

// add returns the number of bodies.
func (a *acknowledgedPets) add(body string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bodies[body] = true
	return len(a.bodies)
}

// killUnderLoad kills the server after 500 acknowledged pets, while 64 clients add pets.
func (s *serverProcess) killUnderLoad(t *testing.T, a *acknowledgedPets, name string) {
	t.Helper()
	const writers, wanted = 64, 500
	before := len(a.bodies)
	enough := make(chan struct{})
	var once sync.Once
	var wait sync.WaitGroup
	for writer := range writers {
		wait.Go(func() {
			for i := 0; ; i++ {
				status, body, err := s.post(t.Context(), petBody(fmt.Sprintf("%s-%d-%d", name, writer, i)))
				if err != nil {
					return // the server was killed
				}
				if status != http.StatusCreated {
					t.Errorf("got %d %s, want 201", status, body)
					return
				}
				if a.add(body) >= before+wanted {
					once.Do(func() { close(enough) })
				}
			}
		})
	}
	select {
	case <-enough:
	case <-t.Context().Done():
	}
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	wait.Wait()
}

// nextPage reads a page and returns the path of the next one, or "" after the last.
func nextPage(t *testing.T, s *serverProcess, path string, page any) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(page); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("got %d, %v, want 200", response.StatusCode, err)
	}
	link, _, linked := strings.Cut(strings.TrimPrefix(response.Header.Get("Link"), "<"), ">")
	if !linked {
		return ""
	}
	return "/v1/pets" + link
}

func TestShutdownFinishesARunningRequest(t *testing.T) {
	t.Parallel()
	s := startServer(t, t.TempDir())
	// The server receives the signal while it reads the body of this request.
	reader, writer := io.Pipe()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/pets", reader)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.key)
	request.Header.Set("Content-Type", "application/json")
	status := make(chan int)
	go func() {
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Error(err)
			status <- 0
			return
		}
		defer response.Body.Close()
		status <- response.StatusCode
	}()
	if _, err := io.WriteString(writer, `{"name":"Rex",`); err != nil {
		t.Fatal(err)
	}
	// The server has accepted the request when it has responded to a later one.
	if status, body, err := s.post(t.Context(), petBody("Tom")); err != nil || status != http.StatusCreated {
		t.Fatal(status, body, err)
	}
	s.signal(t, syscall.SIGTERM)
	waitUntilNotListening(t, s)
	if _, err := io.WriteString(writer, `"categoryId":1}`); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-status; got != http.StatusCreated {
		t.Errorf("running request: got %d, want 201", got)
	}
	s.wantExitOK(t)
	if log := s.log.String(); !strings.Contains(log, `"stopped"`) || strings.Contains(log, s.key) {
		t.Errorf("got a log without the entry stopped, or with the API key:\n%s", log)
	}
}

// waitUntilNotListening waits until the server accepts no more connections.
func waitUntilNotListening(t *testing.T, s *serverProcess) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(s.url, "http://"))
		if ctx.Err() != nil {
			t.Fatal("the server still accepts connections")
		}
		if err != nil {
			return
		}
		_ = connection.Close()
	}
}

func TestFirstKeyIsPrintedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := startServer(t, dir)
	first.wantStatus(t, "/v1/pets", http.StatusOK)
	if second := startServer(t, dir); second.key != "" {
		t.Error("the second start printed a key")
	}
}

func TestFirstKeyPrintsAURLThatExists(t *testing.T) {
	t.Parallel()
	for _, enabled := range []string{"true", "false"} {
		s := startServer(t, t.TempDir(), "--set", "docs.enabled="+enabled)
		s.wantStatus(t, strings.TrimPrefix(s.page, s.url), http.StatusOK)
	}
}

func TestCreatedKeysWorkOnARunningServer(t *testing.T) {
	t.Parallel()
	dir := dirWithStore(t)
	before, stderr, code := runPetstore(t, dir, "keys", "create", "--name", "till 1")
	if code != 0 || keyPattern.FindString(before)+"\n" != before || stderr != "" {
		t.Fatalf("got code %d, stdout %q, stderr %q; want 0 and only the key", code, before, stderr)
	}
	s := startServer(t, dir)
	if s.key != "" {
		t.Error("a first key was created although the store has a key")
	}
	during, _, _ := runPetstore(t, dir, "keys", "create", "--name", "till 2")
	for _, key := range []string{before, during} {
		s.key = strings.TrimSpace(key)
		s.wantStatus(t, "/v1/pets", http.StatusOK)
	}
}

func TestAddressInUseCreatesNoStore(t *testing.T) {
	t.Parallel()
	used, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	for _, setting := range []string{"server.address", "admin.address"} {
		dir := t.TempDir()
		stdout, stderr, code := runPetstore(t, dir, "serve", "--first-key", "--set", setting+"="+used.Addr().String())
		want := fmt.Sprintf("petstore: %s: %s is already in use: stop the process that uses it or set another address\n", setting, used.Addr())
		if code != 1 || stderr != want || stdout != "" {
			t.Errorf("got code %d, stdout %q, stderr %q; want 1 and stderr %q", code, stdout, stderr, want)
		}
		if _, err := os.Stat(storePath(dir)); err == nil {
			t.Error("a store was created")
		}
	}
}
