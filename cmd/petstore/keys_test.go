package main

import (
	"database/sql"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// succeed runs the program in a folder and returns what it printed; nothing else may happen.
func succeed(t *testing.T, folder string, args ...string) string {
	t.Helper()
	stdout, stderr, code := output(t, folder, args...)
	if code != 0 || stderr != "" {
		t.Fatalf("%v: code %d, stderr %q", args, code, stderr)
	}
	return stdout
}

// issue runs a command that prints a key, and nothing else.
func issue(t *testing.T, folder string, args ...string) string {
	t.Helper()
	stdout := succeed(t, folder, append([]string{"keys"}, args...)...)
	key := keyForm.FindString(stdout)
	if key == "" || stdout != key+"\n" {
		t.Fatalf("%v printed %q, want the key alone", args, stdout)
	}
	return key
}

// wantStatus expects a server to answer each key so.
func wantStatus(t *testing.T, s *process, want int, keys ...string) {
	t.Helper()
	for _, key := range keys {
		status, answer, err := s.do(t.Context(), http.MethodGet, "/v1/pets", "", "Authorization", "Bearer "+key)
		if err != nil || status != want {
			t.Errorf("%d %s %v, want %d", status, answer, err, want)
		}
	}
}

func TestKeysCommandLine(t *testing.T) {
	t.Parallel()
	const badSpan = "must be a span of time such as 90d, 36h or 30m"
	for name, test := range map[string]struct {
		args   string
		code   int
		stderr string
	}{
		"help":                  {"keys", 0, ""},
		"unknown command":       {"keys sell", 2, `unknown command "sell" for "petstore keys"`},
		"create for no time":    {"keys create --name n --expires 0d", 2, `invalid argument "0d" for "--expires" flag: must be from 1s to 3650d`},
		"create for too long":   {"keys create --name n --expires 3651d", 2, `invalid argument "3651d" for "--expires" flag: must be from 1s to 3650d`},
		"create for no span":    {"keys create --name n --expires soon", 2, `invalid argument "soon" for "--expires" flag: ` + badSpan},
		"list in no form":       {"keys list --output xml", 2, `invalid argument "xml" for "--output" flag: must be table or json`},
		"list one":              {"keys list 7", 2, `unknown command "7" for "petstore keys list"`},
		"rotate nothing":        {"keys rotate", 2, "accepts 1 arg(s), received 0"},
		"rotate what is no ID":  {"keys rotate petstore_secret", 2, "the ID of an API key is the number that petstore keys list shows"},
		"rotate back in time":   {"keys rotate 7 --overlap -1h", 2, `invalid argument "-1h" for "--overlap" flag: must be from 0s to 3650d`},
		"rotate an unknown key": {"keys rotate 7", 1, "there is no API key with the id 7"},
		"revoke two":            {"keys revoke 7 8", 2, "accepts 1 arg(s), received 2"},
		"revoke what is no ID":  {"keys revoke 0x7", 2, "the ID of an API key is the number that petstore keys list shows"},
		"revoke an unknown key": {"keys revoke 7", 1, "there is no API key with the id 7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			if test.code == 1 {
				folder = folderWithStore(t)
			}
			stdout, stderr, code := output(t, folder, strings.Fields(test.args)...)
			want := ""
			if test.code != 0 {
				want = "petstore: " + test.stderr + "\n"
			}
			if code != test.code || stderr != want || (stdout == "") != (code != 0) {
				t.Errorf("code %d, stdout %q, stderr %q; want %d and %q", code, stdout, stderr, test.code, want)
			}
			if _, err := os.Stat(database(folder)); err == nil && test.code != 1 {
				t.Error("a store was created")
			}
		})
	}
}

func TestKeyList(t *testing.T) {
	t.Parallel()
	folder := folderWithStore(t)
	if empty := succeed(t, folder, "keys", "list", "--output", "json"); empty != "[]\n" {
		t.Errorf("the list of an empty store is %q", empty)
	}
	store, err := sql.Open("sqlite3", database(folder))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	// 2026-11-20T12:00:00.250Z and years about it.
	_, err = store.ExecContext(t.Context(), `INSERT INTO api_keys
		(hash, name, last_four, created_at, expires_at, revoked_at, last_used_at) VALUES
		(randomblob(32), 'till 1', 'aaaa', 1795176000250, NULL, NULL, NULL),
		(randomblob(32), 'Käfig <2>', 'bbbb', 1795176000250, 4102444800000, NULL, 1795176000000),
		(randomblob(32), 'expired', 'cccc', 946684800000, 978307200000, NULL, 946684800500),
		(randomblob(32), 'revoked', 'dddd', 946684800000, NULL, 946684800001, NULL),
		(randomblob(32), 'rotated', 'eeee', 946684800000, NULL, 4102444800000, NULL)`)
	if err != nil {
		t.Fatal(err)
	}
	for golden, args := range map[string][]string{
		"keys.txt":  {"keys", "list"},
		"keys.json": {"keys", "list", "--output", "json"},
	} {
		want, err := os.ReadFile(filepath.Join("testdata", golden))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), succeed(t, folder, args...)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", golden, diff)
		}
	}
}

func TestKeysAreManagedBesideAServer(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := start(t, folder)
	first := issue(t, folder, "create", "--name", "till 1", "--expires", "90d") // id 2, after the server's own
	wantStatus(t, s, http.StatusOK, first)
	second := issue(t, folder, "rotate", "2", "--overlap", "24h")
	wantStatus(t, s, http.StatusOK, first, second)
	third := issue(t, folder, "rotate", "3")
	wantStatus(t, s, http.StatusOK, first, second, third)

	succeed(t, folder, "keys", "revoke", "2")
	succeed(t, folder, "keys", "revoke", "2")
	startLoad(t, first, s).wait()
	last := issue(t, folder, "rotate", "4", "--overlap", "0s")
	startLoad(t, third, s).wait()
	wantStatus(t, s, http.StatusOK, second, last, s.key)

	_, stderr, code := output(t, folder, "keys", "rotate", "4")
	if want := "petstore: the API key with the id 4 is revoked and cannot be rotated\n"; code != 1 || stderr != want {
		t.Errorf("code %d, %q; want 1 and %q", code, stderr, want)
	}

	wrong := strings.ToLower(last)
	wantStatus(t, s, http.StatusUnauthorized, wrong, last[:len(last)-1])
	told := s.log.String() + succeed(t, folder, "keys", "list") + succeed(t, folder, "keys", "list", "--output", "json")
	for _, file := range []string{"", "-wal"} {
		kept, err := os.ReadFile(database(folder) + file)
		if err != nil {
			t.Fatal(err)
		}
		told += string(kept)
	}
	for _, secret := range []string{first, second, third, last, s.key, wrong} {
		if body := strings.TrimPrefix(secret, "petstore_"); strings.Contains(told, body) {
			t.Errorf("%q stands in the log, a list or the store", secret)
		}
	}
}

func TestRevokedKeyIsRefusedByEveryServerWithinFiveSeconds(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	servers := []*process{start(t, folder), start(t, folder)}
	l := startLoad(t, issue(t, folder, "create", "--name", "till 1"), servers...)
	l.accepted.Wait()
	succeed(t, folder, "keys", "revoke", "2")
	revoked := time.Now()
	late := l.wait().Sub(revoked)
	if late >= 5*time.Second {
		t.Errorf("the key was accepted %v after it was revoked", late)
	}
	t.Logf("the last 200 came %v after the command ended", late)
	wantStatus(t, servers[1], http.StatusOK, servers[0].key)
}

func TestExpiredKeyIsRefusedByEveryServer(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	servers := []*process{start(t, folder), start(t, folder)}
	key := issue(t, folder, "create", "--name", "till 1", "--expires", "2s")
	expires := time.Now().Add(2 * time.Second)
	l := startLoad(t, key, servers...)
	l.accepted.Wait()
	if late := l.wait().Sub(expires); late >= 5*time.Second {
		t.Errorf("the key was accepted %v after it expired", late)
	}
	if list := succeed(t, folder, "keys", "list"); !strings.Contains(list, "  expired\n") {
		t.Errorf("no key is listed as expired:\n%s", list)
	}
}

// A load is many clients who use one key until it is refused.
type load struct {
	accepted sync.WaitGroup // of each client, once
	refused  sync.WaitGroup
	mu       sync.Mutex
	last     time.Time
}

func startLoad(t *testing.T, key string, servers ...*process) *load {
	t.Helper()
	const clients, patience = 4, 20 * time.Second
	l := &load{}
	for i := range clients * len(servers) {
		l.accepted.Add(1)
		l.refused.Go(func() {
			accepted := sync.OnceFunc(l.accepted.Done)
			defer accepted()
			for begin := time.Now(); time.Since(begin) < patience; {
				status, answer, err := servers[i%len(servers)].do(t.Context(), http.MethodGet, "/v1/pets", "", "Authorization", "Bearer "+key)
				if err != nil || status != http.StatusOK {
					if err != nil || status != http.StatusUnauthorized || !strings.Contains(answer, `"invalid_api_key"`) {
						t.Error(status, answer, err)
					}
					return
				}
				l.note(time.Now())
				accepted()
			}
			t.Errorf("the key was accepted for %v", patience)
		})
	}
	return l
}

func (l *load) note(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at.After(l.last) {
		l.last = at
	}
}

// wait returns when the key was accepted for the last time.
func (l *load) wait() time.Time {
	l.refused.Wait()
	return l.last
}

func TestSpansOfTime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"90d": 90 * day, "0d": 0, "007d": 7 * day, "36h": 36 * time.Hour, "30m": 30 * time.Minute, "1h30m": 90 * time.Minute,
		"0": 0, "-1h": -time.Hour,
	} {
		if got, err := parseSpan(text); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "90", "-1d", "+1d", "1.5d", "1d12h", "12h1d", "90 d", "90D", "65536d", "99999999999999h", "soon"} {
		if got, err := parseSpan(text); err == nil {
			t.Errorf("%q: %v, want an error", text, got)
		}
	}
}
