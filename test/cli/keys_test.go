package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/petstore/test/harness"

	"github.com/google/go-cmp/cmp"
)

func TestRotateSaysWhichKeyEndsWhen(t *testing.T) {
	t.Parallel()
	dir := harness.NewStore(t)
	for range 3 {
		harness.PrintedKey(t, dir, "create", "--name", "till-1")
	}
	before := time.Now().Add(48 * time.Hour).Truncate(time.Second)
	_, stderr, _ := harness.Run(t, dir, "keys", "rotate", "2", "--overlap", "48h")
	said := harness.RotationPattern.FindStringSubmatch(stderr)
	if said == nil || said[1] != "4" || said[2] != "2" {
		t.Fatalf("got %q, want that the key 4 replaces the key 2", stderr)
	}
	if end, err := time.Parse(time.RFC3339, said[3]); err != nil || end.Before(before) || end.After(time.Now().Add(48*time.Hour)) {
		t.Errorf("got the end %s, %v, want 48 hours from now", said[3], err)
	}
}

func TestRevokeSaysWhatItDid(t *testing.T) {
	t.Parallel()
	dir := harness.NewStore(t)
	harness.PrintedKey(t, dir, "create", "--name", "till-1")
	if stdout := harness.RunOK(t, dir, "keys", "revoke", "1"); stdout != "the API key 1 is revoked\n" {
		t.Errorf("got %q, want that the key is revoked", stdout)
	}
}

func TestKeysCommandLine(t *testing.T) {
	t.Parallel()
	const invalidDuration = "must be a duration such as 90d, 36h or 30m"
	for name, test := range map[string]struct {
		args   string
		code   int
		stderr string
	}{
		"help":                         {"keys", 0, ""},
		"unknown command":              {"keys sell", 2, `unknown command "sell" for "petstore keys"`},
		"create for 0 days":            {"keys create --name n --expires 0d", 2, `invalid argument "0d" for "--expires" flag: must be from 1s to 3650d`},
		"create for too long":          {"keys create --name n --expires 3651d", 2, `invalid argument "3651d" for "--expires" flag: must be from 1s to 3650d`},
		"create for no duration":       {"keys create --name n --expires soon", 2, `invalid argument "soon" for "--expires" flag: ` + invalidDuration},
		"list in unknown format":       {"keys list --output xml", 2, `invalid argument "xml" for "--output" flag: must be table or json`},
		"list one":                     {"keys list 7", 2, "petstore keys list takes no arguments"},
		"rotate nothing":               {"keys rotate", 2, "name the ID of an API key, which petstore keys list shows"},
		"rotate an invalid ID":         {"keys rotate petstore_secret", 2, "the ID of an API key must be a number that petstore keys list shows"},
		"rotate with negative overlap": {"keys rotate 7 --overlap -1h", 2, `invalid argument "-1h" for "--overlap" flag: must be from 0s to 3650d`},
		"rotate an unknown key":        {"keys rotate 7", 1, "there is no API key with the id 7"},
		"revoke two":                   {"keys revoke 7 8", 2, "petstore keys revoke accepts one argument, not 2: quote one that contains spaces"},
		"revoke an invalid ID":         {"keys revoke 0x7", 2, "the ID of an API key must be a number that petstore keys list shows"},
		"revoke an unknown key":        {"keys revoke 7", 1, "there is no API key with the id 7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if test.code == 1 {
				dir = harness.NewStore(t)
			}
			stdout, stderr, code := harness.Run(t, dir, strings.Fields(test.args)...)
			want := ""
			if test.code != 0 {
				want = "petstore: " + test.stderr + "\n"
			}
			if code != test.code || stderr != want || (stdout == "") != (code != 0) {
				t.Errorf("got code %d, stdout %q, stderr %q; want %d and stderr %q", code, stdout, stderr, test.code, want)
			}
			if _, err := os.Stat(harness.StorePath(dir)); err == nil && test.code != 1 {
				t.Error("a store was created")
			}
		})
	}
}

func TestKeysListPrintsTablesAndJSON(t *testing.T) {
	t.Parallel()
	dir := harness.NewStore(t)
	if empty := harness.RunOK(t, dir, "keys", "list", "--output", "json"); empty != "[]\n" {
		t.Errorf("an empty store: got %q, want []", empty)
	}
	// Times in milliseconds from 2000-01-01 to 2100-01-01; 1795176000250 is 2026-11-20T12:00:00.250Z.
	_, err := harness.OpenSQLite(t, harness.StorePath(dir)).ExecContext(t.Context(), `INSERT INTO api_keys
		(hash, name, last_four, created_at, expires_at, revoked_at, last_used_at, read_only) VALUES
		(randomblob(32), 'till 1', 'aaaa', 1795176000250, NULL, NULL, NULL, 0),
		(randomblob(32), 'Käfig <2>', 'bbbb', 1795176000250, 4102444800000, NULL, 1795176000000, 1),
		(randomblob(32), 'expired', 'cccc', 946684800000, 978307200000, NULL, 946684800500, 0),
		(randomblob(32), 'revoked', 'dddd', 946684800000, NULL, 946684800001, NULL, 0),
		(randomblob(32), 'rotated', 'eeee', 946684800000, NULL, 4102444800000, NULL, 0)`)
	if err != nil {
		t.Fatal(err)
	}
	for golden, args := range map[string][]string{
		"keys.txt":  {"keys", "list", "--output", "table"},
		"keys.json": {"keys", "list", "--output", "json"},
	} {
		want, err := os.ReadFile(filepath.Join("testdata", golden))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), harness.RunOK(t, dir, args...)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", golden, diff)
		}
	}
}
