package cli

import (
	"path/filepath"
	"testing"
	"time"

	"example.com/petstore/test/harness"

	"github.com/google/go-cmp/cmp"
)

func TestRotateAndRevokeSayWhatTheyDid(t *testing.T) {
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
	if stdout := harness.RunOK(t, dir, "keys", "revoke", "1"); stdout != "the API key 1 is revoked\n" {
		t.Errorf("got %q, want that the key is revoked", stdout)
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
	harness.Check(t, err)
	for golden, args := range map[string][]string{
		"keys.txt":  {"keys", "list", "--output", "table"},
		"keys.json": {"keys", "list", "--output", "json"},
	} {
		if diff := cmp.Diff(harness.ReadFile(t, filepath.Join("testdata", golden)), harness.RunOK(t, dir, args...)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", golden, diff)
		}
	}
}
