package documents

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/test/harness"

	"go.yaml.in/yaml/v3"

	"example.com/petstore/config"
)

// systemdStore is the store of the units of docs/deploy.
const systemdStore = "/var/lib/petstore/petstore.db"

func TestSystemdUnitsAreValid(t *testing.T) {
	t.Parallel()
	const sandbox = "to what it needs.\n"
	_, restrictions, _ := strings.Cut(harness.ReadFile(t, deployDir+"petstore.service"), sandbox)
	restrictions, _, _ = strings.Cut(restrictions, "\n\n")
	for _, file := range []string{"petstore.service", "petstore-litestream.service", "petstore-backup.service"} {
		unit := unitSettings(t, file)
		for _, line := range slices.Concat(unit["ExecStartPre"], unit["ExecStart"]) {
			program, args, _ := strings.Cut(line, " ")
			switch program {
			case "/usr/local/bin/petstore":
				wantAccepted(t, file, strings.Fields(args), unit["Environment"])
			case "/usr/local/bin/litestream": // see the package litestream
			case "/usr/bin/test":
			default:
				t.Errorf("%s runs %s, which is not installed", file, program)
			}
		}
		if user := unit["User"]; len(unit["ExecStart"]) != 1 || !slices.Equal(user, []string{"petstore"}) {
			t.Errorf("%s: got ExecStart=%q User=%q, want one command and the user petstore", file, unit["ExecStart"], user)
		}
		if len(unit["Environment"]) > 0 {
			t.Errorf("%s sets %q, which other commands do not have: write it to petstore.yaml", file, unit["Environment"])
		}
		if !strings.Contains(harness.ReadFile(t, deployDir+file), sandbox+restrictions) {
			t.Errorf("%s has not the restrictions of petstore.service", file)
		}
	}
}

func TestSettingsOfTheSystemdUnitsNameTheStore(t *testing.T) {
	t.Parallel()
	settings, err := config.Load(config.Options{File: deployDir + "petstore.yaml"})
	if err != nil || settings.Database.DSN != systemdStore || settings.Server.Address != ":8080" {
		t.Errorf("got %+v, %v, want the store %s and the address :8080", settings, err, systemdStore)
	}
}

// A restart of Litestream must not migrate the store of a service that runs.
func TestLitestreamWaitsForTheStoreAndDoesNotMigrateIt(t *testing.T) {
	t.Parallel()
	unit := unitSettings(t, "petstore-litestream.service")
	want := map[string]string{"ExecStartPre": "/usr/bin/test -s " + systemdStore, "StartLimitIntervalSec": "0", "Restart": "always"}
	for name, value := range want {
		if !slices.Equal(unit[name], []string{value}) {
			t.Errorf("got %s=%q, want %s", name, unit[name], value)
		}
	}
}

func TestSystemdTimerStartsTheBackup(t *testing.T) {
	t.Parallel()
	timer := unitSettings(t, "petstore-backup.timer") // starts the service of the same name
	if len(timer["OnCalendar"]) != 1 || !slices.Equal(timer["WantedBy"], []string{"timers.target"}) {
		t.Errorf("got OnCalendar=%q WantedBy=%q, want a time and timers.target", timer["OnCalendar"], timer["WantedBy"])
	}
	unit := unitSettings(t, "petstore-backup.service")
	folders := unit["ReadWritePaths"]
	if len(folders) != 1 || !strings.HasSuffix(unit["ExecStart"][0], " "+folders[0]) {
		t.Errorf("the command %q cannot write to its folder: ReadWritePaths=%q", unit["ExecStart"], folders)
	}
}

func TestLitestreamCopiesTheStoreOfTheSystemdUnit(t *testing.T) {
	t.Parallel()
	settings := harness.ReadFile(t, deployDir+"litestream.yml")
	var litestream struct {
		DBs []struct{ Path string } `yaml:"dbs"`
	}
	if err := yaml.Unmarshal([]byte(settings), &litestream); err != nil {
		t.Fatal(err)
	}
	if len(litestream.DBs) != 1 || litestream.DBs[0].Path != systemdStore {
		t.Errorf("got the databases %+v, want one, %s", litestream.DBs, systemdStore)
	}
}

// unitSettings returns the settings of a unit of docs/deploy. A setting may occur several
// times.
func unitSettings(t *testing.T, file string) map[string][]string {
	t.Helper()
	settings := map[string][]string{}
	line := regexp.MustCompile(`^(#.*|\[(Unit|Service|Timer|Install)\]|([A-Z][A-Za-z]+)=(.*)|)$`)
	for text := range strings.Lines(harness.ReadFile(t, deployDir+file)) {
		parts := line.FindStringSubmatch(strings.TrimSuffix(text, "\n"))
		if parts == nil {
			t.Errorf("%s: %q is not valid in a unit file", file, text)
			continue
		}
		settings[parts[3]] = append(settings[parts[3]], parts[4])
	}
	return settings
}
