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

var kills = flag.Int("kills", 2, "how often TestKilledServerHasEveryPetItAnswered kills it")

func TestKilledServerHasEveryPetItAnswered(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	ledger := &ledger{answers: map[string]bool{}} // by the answer's body: id, name and category
	key := ""
	for kill := range *kills {
		s := start(t, folder)
		s.key = cmp.Or(key, s.key)
		key = s.key
		s.killUnderLoad(t, ledger, fmt.Sprint(kill))
	}

	last := start(t, folder)
	last.key = key
	found, named := map[string]int{}, map[string]int{}
	for path := "/v1/pets?limit=100"; path != ""; {
		var page []json.RawMessage
		path = next(t, last, path, &page)
		for _, body := range page {
			var pet struct{ Name string }
			if err := json.Unmarshal(body, &pet); err != nil {
				t.Fatal(err)
			}
			found[string(body)]++
			if named[pet.Name]++; named[pet.Name] > 1 { // each was sent once
				t.Errorf("%s stands %d times in the store", pet.Name, named[pet.Name])
			}
		}
	}
	for pet := range ledger.answers {
		if found[pet] != 1 {
			t.Errorf("%s was answered and stands %d times in the store", pet, found[pet])
		}
	}
	t.Logf("%d kills, %d answers, %d animals in the store", *kills, len(ledger.answers), len(found))
}

// A ledger has the answers that clients read.
type ledger struct {
	mu      sync.Mutex
	answers map[string]bool
}

func (l *ledger) note(answer string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers[answer] = true
	return len(l.answers)
}

// killUnderLoad kills the server while 64 clients add animals.
func (s *process) killUnderLoad(t *testing.T, l *ledger, name string) {
	t.Helper()
	const writers, answered = 64, 500
	before := len(l.answers)
	enough := make(chan struct{})
	var once sync.Once
	var wait sync.WaitGroup
	for writer := range writers {
		wait.Go(func() {
			for i := 0; ; i++ {
				status, answer, err := s.post(t.Context(), petBody(fmt.Sprintf("%s-%d-%d", name, writer, i)))
				if err != nil {
					return // the server is dead
				}
				if status != http.StatusCreated {
					t.Errorf("status %d: %s", status, answer)
					return
				}
				if l.note(answer) >= before+answered {
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

// next reads a page and returns the path of the one behind it, or nothing.
func next(t *testing.T, s *process, path string, page any) string {
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
		t.Fatalf("status %d: %v", response.StatusCode, err)
	}
	link, _, linked := strings.Cut(strings.TrimPrefix(response.Header.Get("Link"), "<"), ">")
	if !linked {
		return ""
	}
	return "/v1/pets" + link
}

func TestSignalledServerFinishesWhatRuns(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	// A request whose body is on its way when the signal comes.
	body, write := io.Pipe()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/pets", body)
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
	if _, err := io.WriteString(write, `{"name":"Rex",`); err != nil {
		t.Fatal(err)
	}
	// The server has taken the request for sure once another one is answered that came later.
	if code, answer, err := s.post(t.Context(), petBody("Tom")); err != nil || code != http.StatusCreated {
		t.Fatal(code, answer, err)
	}
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitUntilRefused(t, s)
	if _, err := io.WriteString(write, `"categoryId":1}`); err != nil {
		t.Fatal(err)
	}
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-status; got != http.StatusCreated {
		t.Errorf("the running request was answered %d", got)
	}
	if err := s.Wait(); err != nil {
		t.Errorf("the server ended with %v: %s", err, s.log)
	}
	if log := s.log.String(); !strings.Contains(log, `"stopped"`) || strings.Contains(log, s.key) {
		t.Errorf("the log tells no end, or the key:\n%s", log)
	}
}

// waitUntilRefused returns when the server accepts no more connections.
func waitUntilRefused(t *testing.T, s *process) {
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
	folder := t.TempDir()
	first := start(t, folder)
	if code, answer, err := first.do(t.Context(), http.MethodGet, "/v1/pets", ""); err != nil || code != http.StatusOK {
		t.Errorf("the first key: %d %s %v", code, answer, err)
	}
	if second := start(t, folder); second.key != "" {
		t.Error("a second start printed a key")
	}
}

func TestFirstPageIsThere(t *testing.T) {
	t.Parallel()
	for _, enabled := range []string{"true", "false"} {
		s := start(t, t.TempDir(), "--set", "docs.enabled="+enabled)
		if code, answer, err := s.do(t.Context(), http.MethodGet, strings.TrimPrefix(s.page, s.url), ""); err != nil || code != http.StatusOK {
			t.Errorf("docs.enabled=%s: %s: %d %s %v", enabled, s.page, code, answer, err)
		}
	}
}

func TestKeyIsCreatedBesideAServer(t *testing.T) {
	t.Parallel()
	folder := folderWithStore(t)
	before, stderr, code := output(t, folder, "keys", "create", "--name", "till 1")
	if code != 0 || keyForm.FindString(before)+"\n" != before || stderr != "" {
		t.Fatalf("code %d, stdout %q, stderr %q; want the key alone", code, before, stderr)
	}
	s := start(t, folder)
	if s.key != "" {
		t.Error("a first key was issued beside another")
	}
	beside, _, _ := output(t, folder, "keys", "create", "--name", "till 2")
	for _, key := range []string{before, beside} {
		s.key = strings.TrimSpace(key)
		if code, answer, err := s.do(t.Context(), http.MethodGet, "/v1/pets", ""); err != nil || code != http.StatusOK {
			t.Errorf("%d %s %v", code, answer, err)
		}
	}
}

func TestTakenPortLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, setting := range []string{"server.address", "admin.address"} {
		folder := t.TempDir()
		stdout, stderr, code := output(t, folder, "serve", "--first-key", "--set", setting+"="+taken.Addr().String())
		want := fmt.Sprintf("petstore: %s: %s is taken by another process: end that one or set another address\n", setting, taken.Addr())
		if code != 1 || stderr != want || stdout != "" {
			t.Errorf("code %d, stdout %q, stderr %q; want 1 and %q", code, stdout, stderr, want)
		}
		if _, err := os.Stat(database(folder)); err == nil {
			t.Error("a store was created")
		}
	}
}
