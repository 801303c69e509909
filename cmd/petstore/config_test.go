package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestConfigPrintsSettingsAndSources(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stdout, stderr, code := runPetstore(t, dir, "config", "--set", "database.dsn=secret.db", "--set", "log.level=warn")
	for _, line := range []string{
		`SETTING +VALUE +SOURCE`,
		`server\.address +127\.0\.0\.1:0 +PETSTORE_SERVER_ADDRESS`,
		`server\.request_timeout +10s +default`,
		`database\.dsn +\(hidden\) +command line`,
		`log\.level +warn +command line`,
		`admin\.address +"" +PETSTORE_ADMIN_ADDRESS`,
	} {
		if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(stdout) {
			t.Errorf("the output has no line %s", line)
		}
	}
	if code != 0 || stderr != "" || strings.Contains(stdout, "secret") {
		t.Errorf("got code %d, stdout %s, stderr %q; want 0, no secret, no error", code, stdout, stderr)
	}
}

func TestConfigPrintsTheFileOfTheSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	wantFirst := func(want, environ string, args ...string) {
		t.Helper()
		cmd := command(t.Context(), dir, append([]string{"config"}, args...)...)
		cmd.Env = append(cmd.Env, environ)
		output, err := cmd.Output()
		lines := strings.SplitN(string(output), "\n", 3)
		if err != nil || len(lines) < 3 || strings.Join(strings.Fields(lines[1]), " ") != want {
			t.Errorf("got %v, %s; want the line %s", err, output, want)
		}
		level := regexp.MustCompile(`(?m)^log\.level .*`).FindString(string(output))
		if file := strings.Fields(want)[1]; file != `""` && !strings.HasSuffix(level, " "+file) {
			t.Errorf("got %s, want the level of %s", level, file)
		}
	}
	wantFirst(`config "" default`, "")
	for _, name := range []string{"petstore.yaml", "variable.toml", "flag.json"} {
		text := map[string]string{"petstore.yaml": "log: {level: warn}", "variable.toml": "log.level = 'warn'", "flag.json": `{"log": {"level": "warn"}}`}[name]
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wantFirst("config petstore.yaml default", "")
	wantFirst("config variable.toml PETSTORE_CONFIG", "PETSTORE_CONFIG=variable.toml")
	wantFirst("config flag.json command line", "PETSTORE_CONFIG=variable.toml", "--config", "flag.json")
}

func TestConfigPrintsInvalidSettings(t *testing.T) {
	t.Parallel()
	key := "petstore_" + strings.Repeat("x", 48)
	stdout, stderr, code := runPetstore(t, t.TempDir(), "config", "--set", "log.level=loud", "--set", "auth.bootstrap_key="+key, "--set", "no.such=1")
	want := "petstore: the configuration is not valid:\n" +
		"  auth.bootstrap_key = (hidden) (command line): must be an API key as petstore keys create prints it: petstore_ and 49 letters and digits\n" +
		"  log.level = \"loud\" (command line): must be debug or info or warn or error\n" +
		"  no.such (command line): no such setting; "
	if code != 2 || !strings.HasPrefix(stderr, want) || !strings.Contains(stdout, "(invalid)") || strings.Contains(stdout+stderr, key) {
		t.Errorf("got code %d, stdout %s, stderr %s; want 2 and %s", code, stdout, stderr, want)
	}
}
