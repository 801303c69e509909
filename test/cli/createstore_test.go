package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/test/harness"

	"github.com/google/go-cmp/cmp"
)

func TestMistypedPathCreatesNoStore(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"keys list", "keys list --output json", "keys rotate 1", "keys revoke 1", "migrate status",
		"keys create --name n --set database.migrate=false",
	} {
		for name, want := range map[string]string{
			"missing": "there is no such file: correct the path, or run petstore migrate up",
			"empty":   "there is no store in it yet: run petstore migrate up",
		} {
			t.Run(args+" "+name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				path := filepath.Join(dir, "typo.db")
				if name == "empty" {
					harness.Check(t, os.WriteFile(path, nil, 0o600))
				}
				before := modes(t, dir)
				harness.WantError(t, dir, args+" --set database.dsn="+path, "open the store "+path+": "+want)
				wantModes(t, dir, before)
			})
		}
	}
}

func TestCommandReportsThatItCreatedTheStore(t *testing.T) {
	t.Parallel()
	for args, printed := range map[string]string{"migrate up": "the schema is up to date: version 5\n", "keys create --name n": "petstore_", "seed --count 0": "added 0 animals"} {
		for _, name := range []string{"missing", "empty"} {
			t.Run(args+" "+name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				if name == "empty" {
					harness.Check(t, os.WriteFile(harness.StorePath(dir), nil, 0o600))
				}
				want := "petstore: created the store " + harness.StorePath(dir) + "\n"
				if stdout, stderr, code := harness.Run(t, dir, strings.Fields(args)...); code != 0 || stderr != want || !strings.HasPrefix(stdout, printed) {
					t.Errorf("got code %d, stdout %q, stderr %q; want 0, %q and %q", code, stdout, stderr, printed, want)
				}
				if _, stderr, code := harness.Run(t, dir, strings.Fields(args)...); code != 0 || stderr != "" {
					t.Errorf("second run: got code %d, stderr %q; want 0 and nothing", code, stderr)
				}
				if status := harness.RunOK(t, dir, "migrate", "status"); status != "the schema is up to date\n" {
					t.Errorf("got the status %q", status)
				}
			})
		}
	}
}

func TestNewStoreHasMode0600AndAnExistingOneKeepsItsOwn(t *testing.T) {
	t.Parallel()
	for umask, dir := range map[string]string{"000": t.TempDir(), "022": t.TempDir(), "277": t.TempDir(), "002": harness.NewStore(t)} {
		mode := fs.FileMode(0o600)
		if umask == "002" {
			mode = 0o640
			harness.Check(t, os.Chmod(harness.StorePath(dir), mode))
		}
		harness.StartCommand(t, harness.CommandAfter(t.Context(), dir, "umask "+umask, "serve", "--first-key"))
		wantModes(t, dir, map[string]fs.FileMode{"petstore.db": mode, "petstore.db-shm": mode, "petstore.db-wal": mode})
	}
}

// wantModes expects that dir has the files with these modes, often those of before.
func wantModes(t *testing.T, dir string, want map[string]fs.FileMode) {
	t.Helper()
	if diff := cmp.Diff(want, modes(t, dir)); diff != "" {
		t.Errorf("the files of the directory and their modes (-want +got)\n%s", diff)
	}
}

// modes returns the permissions of the files in dir by their names.
func modes(t *testing.T, dir string) map[string]fs.FileMode {
	t.Helper()
	entries, err := os.ReadDir(dir)
	harness.Check(t, err)
	found := map[string]fs.FileMode{}
	for _, entry := range entries {
		info, err := entry.Info()
		harness.Check(t, err)
		found[entry.Name()] = info.Mode().Perm()
	}
	return found
}

// TestOnlyCommandsThatCreateStoresMigrate runs commands on a store with an older schema,
// which an older program must still be able to open after commands that only read or change
// keys.
func TestOnlyCommandsThatCreateStoresMigrate(t *testing.T) {
	t.Parallel()
	for args, migrates := range map[string]bool{
		"keys list": false, "keys rotate 1": false, "keys revoke 1": false, "export -": false, "backup monday.db": false, "migrate status": false,
		"seed --count 0": true, "keys create --name n": true, "migrate up": true,
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			dir := harness.NewStore(t)
			db := harness.OpenSQLite(t, harness.StorePath(dir))
			if _, err := db.ExecContext(t.Context(), `DROP TRIGGER pets_added; DROP TRIGGER pets_updated; DROP TRIGGER orders_added; DROP TRIGGER orders_updated;
				DROP TABLE changes; DROP TABLE recording; DROP INDEX pets_category_id_status_id; DROP TABLE imports; DROP TABLE unfinished_copy; ALTER TABLE api_keys DROP COLUMN read_only;
				DELETE FROM goose_db_version WHERE version_id > 1`); err != nil {
				t.Fatal(err)
			}
			_ = db.Close()
			_, stderr, code := harness.Run(t, dir, strings.Fields(args)...)
			version := harness.QueryInt(t, dir, "SELECT max(version_id) FROM goose_db_version")
			migrated := strings.Contains(stderr, "petstore: migrated the store "+harness.StorePath(dir)+" from schema version 1 to 5\n")
			if migrated != migrates || (version == 5) != migrates || migrates && code != 0 {
				t.Errorf("got code %d, schema version %d, stderr %q; want that it migrates: %t", code, version, stderr, migrates)
			}
		})
	}
}
