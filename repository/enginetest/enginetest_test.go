package enginetest

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"example.com/petstore/repository/postgres/postgrestest"
)

func TestMain(m *testing.M) { os.Exit(WithDatabases(m).Run()) }

// An existing server may have fewer connections than that of a cluster for tests.
func TestOnlyAServerForTestsGetsMoreTestsInParallel(t *testing.T) {
	server := postgrestest.Start(t)
	for dsn, want := range map[string]int{"": 4 * runtime.GOMAXPROCS(0), server.DSN("postgres"): runtime.GOMAXPROCS(0)} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPrintParallel$", "-test.v")
		cmd.Env = append(os.Environ(), "PETSTORE_TEST_ENGINE=postgres", "PETSTORE_TEST_POSTGRES_DSN="+dsn)
		output, err := cmd.CombinedOutput()
		if line := fmt.Sprintf("parallel=%d\n", want); err != nil || !strings.Contains(string(output), line) {
			t.Errorf("%q: got %v %s, want %s", dsn, err, output, line)
		}
	}
}

func TestPrintParallel(*testing.T) {
	fmt.Printf("parallel=%v\n", flag.Lookup("test.parallel").Value)
}
