package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/test/harness"
)

func TestErrorsAndListsHaveNoControlCharacters(t *testing.T) {
	t.Parallel()
	dir := harness.NewStore(t)
	_, err := harness.OpenSQLite(t, harness.StorePath(dir)).ExecContext(t.Context(), "INSERT INTO api_keys (hash, name, last_four, created_at) VALUES (zeroblob(32), ?, 'abcd', 0)", "till\u202e1")
	if err != nil { // earlier versions accepted such a name
		t.Fatal(err)
	}
	if list := harness.RunOK(t, dir, "keys", "list"); !strings.Contains(list, `till\u202e1 `) {
		t.Errorf("got the list %q, want the name escaped", list)
	}
	for args, want := range map[string]string{
		"import \x1b[31m.csv": `there is no file \x1b[31m.csv: correct the path`,
		"restore \u202eb.db":  `there is no backup \u202eb.db: correct the path`,
		"backup \x1b/b.db":    `there is no folder \x1b: create it`,
	} {
		harness.WantError(t, dir, args, want)
	}
}

func TestResultsAndWarningsHaveNoControlCharacters(t *testing.T) {
	t.Parallel()
	const name, escaped = "\x1b\u202e", `\x1b\u202e`
	dir := t.TempDir()
	harness.WriteFile(t, dir, name+".csv", "name,categoryId\nRex,7")
	harness.Check(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	for _, test := range []struct{ args, want string }{
		{"seed --count 1 --orders 0 --set database.dsn=" + name + ".db", "petstore: created the store DIR/" + escaped + ".db\n"},
		{"import " + name + ".csv", "petstore: warning: the last line of " + escaped + ".csv has no line end: "},
		{"backup " + name + "/b.db", "wrote " + escaped + "/b.db: "},
		{"backup --keep 1 " + name, "wrote " + escaped + "/"},
		{"backup --keep 1 " + name, "removed " + escaped + "/"},
		{"restore " + name + "/b.db --set database.dsn=" + name + ".db", "restored DIR/" + escaped + ".db from " + escaped + "/b.db: "},
		{"restore " + name + "/b.db --set database.dsn=" + name + ".db", "\nto go back, run petstore restore " + escaped + ".db.replaced-"},
	} {
		stdout, stderr, code := harness.Run(t, dir, strings.Fields(test.args)...)
		output := stdout + stderr
		if want := strings.ReplaceAll(test.want, "DIR", dir); code != 0 || !strings.Contains(output, want) || strings.ContainsAny(output, name) {
			t.Errorf("%q: got code %d, output %q, want 0 and %q, and no control character", test.args, code, output, want)
		}
	}
}
