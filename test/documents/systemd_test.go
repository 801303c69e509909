package documents

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/test/harness"

	"go.yaml.in/yaml/v3"

	"example.com/petstore/config"
)

// TestSystemdUnitsAreValid lets systemd check the units, with a program that is installed, and how much a
// process of each may do.
func TestSystemdUnitsAreValid(t *testing.T) {
	t.Parallel()
	analyze := func(args ...string) {
		t.Helper()
		if output, err := exec.CommandContext(t.Context(), "systemd-analyze", args...).CombinedOutput(); err != nil {
			t.Errorf("systemd-analyze %v: %v (make deps installs it)\n%s", args, err, output)
		}
	}
	dir := t.TempDir()
	installed := strings.NewReplacer("/usr/local/bin/petstore", "/bin/true", "/usr/local/bin/litestream", "/bin/true")
	units := []string{"petstore.service", "petstore-litestream.service", "petstore-backup.service", "petstore-backup.timer"}
	for _, file := range units {
		unit := harness.ReadFile(t, deployDir+file)
		harness.WriteFile(t, dir, file, installed.Replace(unit))
		if strings.Contains(unit, "\nEnvironment=") {
			t.Errorf("%s sets environment variables, which other commands do not have: write them to petstore.yaml", file)
		}
		for _, command := range regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/petstore (.*)$`).FindAllStringSubmatch(unit, -1) {
			wantAccepted(t, file, strings.Fields(command[1]), nil)
		}
	}
	for _, file := range units { // all are there, because they name each other
		analyze("verify", "--man=no", "--recursive-errors=no", filepath.Join(dir, file))
		if strings.HasSuffix(file, ".service") {
			analyze("security", "--offline=true", "--threshold=30", filepath.Join(dir, file)) // 3.0 of 10; without restrictions 9.6
		}
	}
}

// The settings, the units and Litestream have the same store and folder of backups. A restart of Litestream must not migrate
// the store of a service that runs.
func TestFilesForSystemdAgree(t *testing.T) {
	t.Parallel()
	const store, backups = "/var/lib/petstore/petstore.db", "/var/backups/petstore"
	settings, err := config.Load(config.Options{File: deployDir + "petstore.yaml"})
	if err != nil || settings.Database.DSN != store || settings.Server.Address != ":8080" {
		t.Errorf("got %+v, %v, want the store %s and the address :8080", settings, err, store)
	}
	for file, lines := range map[string][]string{
		"petstore.service":            {"User=petstore"},
		"petstore-litestream.service": {"User=petstore", "ExecStartPre=/usr/bin/test -s " + store, "StartLimitIntervalSec=0", "Restart=always"},
		"petstore-backup.timer":       {"WantedBy=timers.target"}, // starts the service of the same name
		"petstore-backup.service":     {"User=petstore", "ExecStart=/usr/local/bin/petstore backup --keep 7 " + backups, "ReadWritePaths=" + backups},
	} {
		for _, line := range lines {
			if !strings.Contains(harness.ReadFile(t, deployDir+file), "\n"+line+"\n") {
				t.Errorf("%s has no line %s", file, line)
			}
		}
	}
	var litestream struct {
		DBs []struct{ Path string } `yaml:"dbs"`
	}
	harness.Check(t, yaml.Unmarshal([]byte(harness.ReadFile(t, deployDir+"litestream.yml")), &litestream))
	if len(litestream.DBs) != 1 || litestream.DBs[0].Path != store {
		t.Errorf("got the databases %+v, want one, %s", litestream.DBs, store)
	}
}
