package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/domain/apikey"
	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

// invalidCommandLines have the exit code 2. Each error follows "petstore: ".
var invalidCommandLines = map[string]string{
	"sell":                `unknown command "sell" for "petstore"; did you mean seed?`,
	"sevre --first-key":   `unknown command "sevre" for "petstore"; did you mean serve?`,
	"keys creat --name n": `unknown command "creat" for "petstore keys"; did you mean create?`,
	"keys sell":           `unknown command "sell" for "petstore keys"`,
	"keys --name n":       "unknown flag: --name",
	"keys create":         `required flag(s) "name" not set`,
	"keys create --name=": `invalid argument "" for "--name" flag: must be 1 to 100 characters, not blank, without control ` +
		`characters, also those for the direction of text, or noncharacters such as U+FFFF`,
	"keys create --name n --scope=": `invalid argument "" for "--scope" flag: ` +
		apikey.ScopesRule,
	"keys create --name n --scope pets:read --scope pets": `invalid argument "pets" for "--scope" flag: ` +
		apikey.ScopesRule,
	"keys create --name n --scope pets:read --read-only": "add either --scope or --read-only",
	"keys create --name n --expires 0d":                  `invalid argument "0d" for "--expires" flag: must be from 1s to 3650d`,
	"keys create --name n --expires 3651d":               `invalid argument "3651d" for "--expires" flag: must be from 1s to 3650d`,
	"keys create --name n --expires soon":                `invalid argument "soon" for "--expires" flag: must be a duration such as 90d, 36h or 30m`,
	"keys list --output xml":                             `invalid argument "xml" for "--output" flag: must be table or json`,
	"keys list 7":                                        "petstore keys list takes no arguments",
	"keys rotate":                                        "name the ID of an API key, which petstore keys list shows",
	"keys rotate petstore_secret":                        "the ID of an API key must be a number that petstore keys list shows",
	"keys rotate 7 --overlap -1h":                        `invalid argument "-1h" for "--overlap" flag: must be from 0s to 3650d`,
	"keys revoke 7 8":                                    "petstore keys revoke accepts one argument, not 2: quote one that contains spaces",
	"keys edit 7":                                        "add --name, --scope or --read-only",
	"keys edit --name n":                                 "name the ID of an API key, which petstore keys list shows",
	"keys edit 7 --scope pets:read --read-only":          "add either --scope or --read-only",
	"keys revoke 0x7":                                    "the ID of an API key must be a number that petstore keys list shows",
	"migrate upp --set log.level=info":                   `unknown command "upp" for "petstore migrate"; did you mean up?`,
	"serve --port 1":                                     "unknown flag: --port",
	"serve now":                                          "petstore serve takes no arguments",
	"healthcheck now":                                    "petstore healthcheck takes no arguments",
	"healthcheck --timeout 5":                            `invalid argument "5" for "--timeout" flag: time: missing unit in duration "5"`,
	"serve --set admin.address":                          "a --set has no =: write it as KEY=VALUE",
	"serve --set server.port=1": "the configuration is not valid:\n" +
		"  server.port (command line): no such setting; petstore config lists all",
	"serve --set log.level=loud": "the configuration is not valid:\n" +
		"  log.level = \"loud\" (command line): must be debug or info or warn or error",
	"serve --config=": `invalid argument "" for "--config" flag: must not be empty`,
	"serve " + missingCertificate: "the configuration is not valid:\n" +
		"  server.tls_cert_file = \"none.crt\" (command line): must be the path of a file that exists; a relative path begins at DIR\n" +
		"  server.tls_key_file = \"none.key\" (command line): must be the path of a file that exists; a relative path begins at DIR",
	"serve --config none.yaml":            "the configuration is not valid:\n  none.yaml (command line): cannot be read: no such file or directory",
	"seed --count -1":                     `invalid argument "-1" for "--count" flag: strconv.ParseUint: parsing "-1": invalid syntax`,
	"backup":                              "name the FILE to write, or with --keep the FOLDER",
	"backup a.db b.db":                    "petstore backup accepts one argument, not 2: quote one that contains spaces",
	"backup -":                            "a backup is verified as a file, and cannot be written to standard output: name a FILE, then read that",
	"copy --to -":                         "a store is a file or a database: --to cannot be standard input or output",
	"backup --keep 0 .":                   `invalid argument "0" for "--keep" flag: must be a number of at least 1`,
	"restore":                             "name the FILE to restore",
	"export pets.txt":                     "the format of pets.txt is not known: add --format ndjson or --format csv",
	"export --format xml":                 `invalid argument "xml" for "--format" flag: must be ndjson or csv`,
	"export --type keys":                  `invalid argument "keys" for "--type" flag: must be pets or orders or categories or changes`,
	"export --type categories --status x": `invalid argument "x" for "--status" flag: categories have none`,
	"import a.csv --type categories --update":          "--update and --again are for animals: the names of categories are always replaced",
	"import a.csv --type categories --column status=x": "categories have the columns id and name: correct --column",
	"export --type changes --status sold":              `invalid argument "sold" for "--status" flag: changes have none`,
	"export --type changes changes.csv":                "changes are written as NDJSON: add --format ndjson, or name a FILE.ndjson",
	"export --category x":                              `invalid argument "x" for "--category" flag: must be a 64-bit integer`,
	"export --type changes --q rex":                    "--q is for animals: leave it out, or leave out --type changes",
	"export --type orders --category 7":                "--category is for animals: leave it out, or leave out --type orders",
	"export --bom pets.ndjson":                         "--bom and --delimiter are for CSV: add --format csv, or name a FILE.csv",
	"export --delimiter tab":                           "--bom and --delimiter are for CSV: add --format csv, or name a FILE.csv",
	"export --delimiter | pets.csv":                    `invalid argument "|" for "--delimiter" flag: must be , or ; or tab`,
	"export --status lost":                             `invalid argument "lost" for "--status" flag: must be available, pending or sold`,
	"export --status=":                                 `invalid argument "" for "--status" flag: must be available, pending or sold`,
	"export --status sold --type orders":               `invalid argument "sold" for "--status" flag: must be placed, delivered or cancelled`,
	"export pets.csv orders.csv":                       "petstore export accepts one argument, not 2: quote one that contains spaces",
	"import":                                           "name the FILE to import, or - for standard input",
	"import none":                                      "the format of none is not known: add --format ndjson or --format csv",
	"import -":                                         "the format of standard input is not known: add --format ndjson or --format csv",
	"import none.csv --format xml":                     `invalid argument "xml" for "--format" flag: must be ndjson or csv`,
	"import none.csv --rejects -":                      `invalid argument "-" for "--rejects" flag: must be the name of a new file`,
	"import a.csv --rejects r.ndjson":                  "--rejects writes the format of the input: name a file with the extension .csv",
	"import pets.xlsx":                                 "pets.xlsx is the name of a workbook: use a CSV file, which spreadsheets can save and open",
	"import a.csv --column name":                       `invalid argument "name" for "--column" flag: must be COLUMN=TITLE, such as categoryId=Art`,
	"import a.ndjson --column name=Name":               "--column is for CSV: add --format csv, or name a FILE.csv",
	"import a.csv --add":                               "--add is for --update: without it, all animals of the file are added",
	"import a.csv --update --again":                    "add either --again or --update",
	"import a.csv b.csv":                               "petstore import accepts one argument, not 2: quote one that contains spaces",
	"copy":                                             "add --from or --to: the other store is that of the settings",
	"copy --to a.db --to-file b":                       "add either --to or --to-file",
	"copy --to-file=":                                  `invalid argument "" for "--to-file" flag: must not be empty`,
	"copy --to :memory:":                               "the DSN of --to " + notDSN,
	"copy --from postgress://u:secret@h/d":             "the DSN of --from " + notDSN,
	"copy a.db":                                        "petstore copy takes no arguments",
	"copy --to-file postgres://u:secret@h":             "--to-file: " + hasDSN,
	"import a.csv --column Art=categoryId": `invalid argument "Art=categoryId" for "--column" flag: the COLUMN must be ` +
		"id or name or categoryId or status",

	"serve --set " + misplaced:            "the configuration is not valid:\n  (hidden) (command line): no such setting; petstore config lists all",
	misplaced:                             hasDSN,
	"keys " + misplaced:                   hasDSN,
	"--" + misplaced:                      hasDSN,
	"backup " + misplaced:                 hasDSN,
	"backup --keep " + misplaced:          "--keep: " + hasDSN,
	"restore " + misplaced:                hasDSN,
	"export --format csv " + misplaced:    hasDSN,
	"export --status " + misplaced:        "--status: " + hasDSN,
	"import " + misplaced:                 hasDSN,
	"import a.csv --rejects " + misplaced: "--rejects: " + hasDSN,
	"import --format csv u:secret@h/d":    hasDSN,
}

const (
	misplaced = "postgres://u:secret@h/d?sslmode=disable" // a connection string
	hasDSN    = "the command line has what looks like a connection string in the wrong place: set database.dsn to it, or name another file"
)

const missingCertificate = "--set server.tls_cert_file=none.crt --set server.tls_key_file=none.key"

const notDSN = "must be the connection string of a PostgreSQL database, such as postgres://user@host:5432/database, or the path of a SQLite file, " +
	"such as petstore.db"

// impossibleCommands have the exit code 1 in a folder with the store shop.db and a link to it.
var impossibleCommands = map[string]string{
	"migrate status": noStore,
	"migrate status --config shop.yaml": "open the store petstore.db: there is no such file: correct the path, or run petstore --config shop.yaml " +
		"migrate up",
	"serve --set database.migrate=false": noStore,
	"keys list":                          noStore,
	"keys edit 1 --name n":               noStore,
	"keys rotate 1":                      noStore,
	"keys revoke 1":                      noStore,

	"keys create --name n": noStore,
	"import shop.csv":      noStore,

	"keys edit 7 --name n --set " + shop: "there is no API key with the id 7",
	"keys rotate 7 --set " + shop:        "there is no API key with the id 7",
	"keys revoke 7 --set " + shop:        "there is no API key with the id 7",

	"backup . --set " + shop:              ". is a folder: name a new file in it, or add --keep N to keep the latest N backups there",
	"export . --format csv --set " + shop: ". is a folder: name a new file in it",

	"import none.csv":                 "there is no file none.csv: correct the path",
	"import . --format csv":           ". is a folder: name a file",
	"copy --to-file empty":            notInFile,
	"copy --to-file path":             notInFile,
	"copy --to-file none":             "open none: no such file or directory",
	"copy --to-file shop=1@home":      "open shop=1@home: no such file or directory",
	"copy --to shop.db --set " + shop: "the source and the target are the same store DIR/shop.db: name another one",
	"copy --to link.db --set " + shop: "the source and the target are the same store DIR/shop.db: name another one",
	"copy --from shop=1.db --to copy.db": "open the source DIR/shop=1.db: there is no such file: correct the path, or run petstore migrate up: " +
		"nothing was copied",
	"copy --from none.db --to copy.db": "open the source DIR/none.db: there is no such file: correct the path, or run petstore migrate up: " +
		"nothing was copied",
	"copy --to none/copy.db --set " + shop: "open the target DIR/none/copy.db: there is no folder DIR/none: create it: nothing was copied",
}

const (
	noStore   = "open the store petstore.db: there is no such file: correct the path, or run petstore migrate up"
	shop      = "database.dsn=shop.db"
	notInFile = "the file of --to-file has no connection string of PostgreSQL: write postgres://… to it, or name a SQLite file with --to"
)

func TestRejectedCommandSaysWhyAndCreatesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	harness.MustRun(t, dir, "migrate", "up", "--set", shop)
	harness.WriteFile(t, dir, "shop.yaml", "log: {level: warn}\n")
	harness.WriteFile(t, dir, "empty", "\n")
	harness.WriteFile(t, dir, "shop.csv", "name,categoryId\nRex,7\n")
	harness.WriteFile(t, dir, "path", "petstore:secret@127.0.0.1:5432/shop\n") // a connection string without postgres://
	testkit.Check(t, os.Symlink("shop.db", filepath.Join(dir, "link.db")))
	before := modes(t, dir)
	for wantCode, commands := range map[int]map[string]string{2: invalidCommandLines, 1: impossibleCommands} {
		for args, want := range commands {
			want = "petstore: " + strings.ReplaceAll(want, "DIR", dir) + "\n"
			if args == "import shop.csv" { // the file is checked before the store is opened
				want = "22 of 22 bytes checked\n" + want
			}
			if stdout, stderr, code := harness.Run(t, dir, strings.Fields(args)...); code != wantCode || stdout != "" || stderr != want {
				t.Errorf("%s: got code %d, stdout %q, stderr %q; want %d and %q", args, code, stdout, stderr, wantCode, want)
			}
		}
	}
	wantModes(t, dir, before)
}

// TestDocumentedLineInstallsCompletion runs the line of docs/operations.md for each shell. It expects that
// a new shell completes the commands of petstore.
func TestDocumentedLineInstallsCompletion(t *testing.T) {
	t.Parallel()
	for shell, check := range map[string]string{
		"bash": `. ~/.bashrc; complete -p petstore | grep -q __start_petstore`,
		"zsh":  `. ~/.zshrc; [ "$_comps[petstore]" = _petstore ]`,
		"fish": `complete -C "petstore ke" | string match -q "keys*"`,
	} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			line := regexp.MustCompile(`(?m)^echo .*petstore completion ` + shell + `.*$`).FindString(harness.ReadFile(t, "../../docs/operations.md"))
			if line == "" {
				t.Fatal("docs/operations.md has no line for this shell")
			}
			home := t.TempDir()
			testkit.Check(t, os.MkdirAll(filepath.Join(home, ".config", "fish"), 0o700))
			testkit.Check(t, os.Symlink(harness.Program(t), filepath.Join(home, "petstore")))
			for _, command := range [][]string{{"sh", "-c", line}, {shell, "-c", check}} {
				cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
				cmd.Env = append(os.Environ(), "HOME="+home, "PATH="+home+":"+os.Getenv("PATH"))
				if output, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%s: %v: %s", strings.Join(command, " "), err, output)
				}
			}
		})
	}
}
