package contract

import (
	"net/http"
	"strings"
	"testing"

	"example.com/petstore/test/harness"
)

func startingServersCreateOneFirstKey(t *testing.T) {
	store := newTestStore(t)
	var outputs [4]harness.Buffer
	for i := range outputs {
		cmd := harness.Command(t.Context(), store.dir, append([]string{"serve", "--first-key"}, store.flags...)...)
		cmd.Stdout, cmd.Stderr = &outputs[i], &outputs[i]
		harness.Launch(t, cmd, "")
	}
	keys := 0
	for i := range outputs {
		harness.Eventually(t, "the server has started", func() bool { return harness.PagePattern.MatchString(outputs[i].String()) })
		keys += len(harness.KeyPattern.FindAllString(outputs[i].String(), -1))
	}
	if keys != 1 {
		t.Errorf("got %d keys, want one", keys)
	}
}

func createdKeysWorkOnARunningServer(t *testing.T) {
	store := newTestStore(t)
	if _, stderr, code := store.run(t, "migrate", "up"); code != 0 {
		t.Fatal(stderr)
	}
	before, stderr, code := store.run(t, "keys", "create", "--name", "till 1")
	if code != 0 || harness.KeyPattern.FindString(before)+"\n" != before || stderr != "" {
		t.Fatalf("got code %d, stdout %q, stderr %q; want 0 and only the key", code, before, stderr)
	}
	s := store.startServer(t)
	if s.Key != "" {
		t.Error("a first key was created although the store has a key")
	}
	during, _, _ := store.run(t, "keys", "create", "--name", "till 2")
	for _, key := range []string{before, during} {
		s.Key = strings.TrimSpace(key)
		s.WantStatus(t, "/v1/pets", http.StatusOK)
	}
}
