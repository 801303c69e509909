// Package faults injects faults into a running petstore: kills, power losses, failing disks,
// malicious clients, signals. With -short it takes less than two minutes.
// docs/reliability.md describes what it shows.
package faults

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

var figuresFile = flag.String("figures", "", "the Markdown file to write the figures to")

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if *figuresFile != "" {
		if err := os.WriteFile(*figuresFile, []byte(figures.String()), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// figures is the table of what the tests have measured.
var figures = table{text: "| test | figures of the last run |\n|---|---|\n"}

type table struct {
	mu   sync.Mutex
	text string
}

// add adds a row for a test.
func (f *table) add(t *testing.T, format string, args ...any) {
	t.Helper()
	row := fmt.Sprintf(format, args...)
	t.Log(row)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.text += fmt.Sprintf("| `%s` | %s |\n", strings.ReplaceAll(t.Name(), "_", " "), row)
}

func (f *table) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.text
}

// pick returns short with -short, and else long.
func pick[T any](short, long T) T {
	if testing.Short() {
		return short
	}
	return long
}
