package cli

import (
	"regexp"
	"runtime"
	"testing"

	"example.com/petstore/test/harness"
)

func TestVersionIsPrinted(t *testing.T) {
	t.Parallel()
	pattern := regexp.MustCompile(`^petstore \S+ \(commit \S+, ` + regexp.QuoteMeta(runtime.Version()) + `\)\n$`)
	for _, arg := range []string{"version", "--version"} {
		if stdout, stderr, code := harness.Run(t, t.TempDir(), arg); code != 0 || !pattern.MatchString(stdout) {
			t.Errorf("%s: got code %d, stdout %q, stderr %s; want 0 and %s", arg, code, stdout, stderr, pattern)
		}
	}
}
