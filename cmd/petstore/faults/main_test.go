//go:build faults

// Package faults injects faults into a running petstore: kills, power losses, failing disks,
// malicious clients, signals. With -short it takes less than two minutes.
// docs/reliability.md describes what it shows.
package faults

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// program is the path of petstore, which TestMain builds.
var program string

var (
	raceDetector = flag.Bool("racedetector", false, "build petstore with the race detector")
	figuresFile  = flag.String("figures", "", "the Markdown file to write the figures to")
)

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	folder, err := os.MkdirTemp("", "petstore-faults-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	program = filepath.Join(folder, "petstore")
	args := []string{"build", "-o", program}
	if *raceDetector {
		args = append(args, "-race")
	}
	if output, err := exec.Command("go", append(args, "..")...).CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build petstore: %w\n%s", err, output)
	}
	code = m.Run()
	if *figuresFile != "" && code == 0 {
		err = os.WriteFile(*figuresFile, []byte(figures.String()), 0o644)
	}
	return code, err
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
