package cli

import (
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/test/harness"
)

func TestConfigPrintsSettingsAndSources(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stdout, stderr, code := harness.Run(t, dir, "config", "--set", "database.dsn=secret.db", "--set", "log.level=warn")
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

func TestConfigPrintsInvalidSettings(t *testing.T) {
	t.Parallel()
	key := "petstore_" + strings.Repeat("x", 48)
	stdout, stderr, code := harness.Run(t, t.TempDir(), "config", "--set", "log.level=loud", "--set", "auth.bootstrap_key="+key, "--set", "no.such=1")
	want := "petstore: the configuration is not valid:\n" +
		"  auth.bootstrap_key = (hidden) (command line): must be an API key as petstore keys create prints it: petstore_ and 49 letters and digits\n" +
		"  log.level = \"loud\" (command line): must be debug or info or warn or error\n" +
		"  no.such (command line): no such section; "
	if code != 2 || !strings.HasPrefix(stderr, want) || !strings.Contains(stdout, "(invalid)") || strings.Contains(stdout+stderr, key) {
		t.Errorf("got code %d, stdout %s, stderr %s; want 2 and %s", code, stdout, stderr, want)
	}
}
