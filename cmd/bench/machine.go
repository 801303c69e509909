package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-sqlite3"
)

// A machine is the hardware and the software of a measurement.
type machine struct {
	cpu, kernel     string
	cores           int
	load            string // average of the minute before
	versions        []version
	fsync, fsyncP99 time.Duration // a write of 4 KiB and its fsync
}

type version struct{ name, number string }

// inspect describes this machine, and its disk with a file in a folder.
func inspect(ctx context.Context, folder string) (machine, error) {
	m := machine{
		cpu:    firstGroup(regexp.MustCompile(`(?m)^model name\s*: (.*)$`), readFile("/proc/cpuinfo")),
		load:   firstGroup(regexp.MustCompile(`^(\S+)`), readFile("/proc/loadavg")),
		kernel: strings.TrimSpace(readFile("/proc/sys/kernel/osrelease")),
		cores:  runtime.NumCPU(),
	}
	sqlite, _, _ := sqlite3.Version()
	m.versions = append(builtWith(), version{"SQLite", sqlite}, version{"wrk", wrkVersion(ctx)})
	var err error
	m.fsync, m.fsyncP99, err = timeFsync(filepath.Join(folder, "fsync"))
	return m, err
}

// readFile returns the content of a file, or "" if it cannot be read: a report without
// the name of the CPU is still a report.
func readFile(path string) string {
	text, _ := os.ReadFile(filepath.Clean(path))
	return string(text)
}

// builtWith returns the versions that this program, and petstore with it, is built with.
func builtWith() []version {
	versions := []version{{"Go", strings.TrimPrefix(runtime.Version(), "go")}}
	build, _ := debug.ReadBuildInfo()
	if build == nil {
		return versions
	}
	for _, module := range build.Deps {
		number := strings.TrimPrefix(module.Version, "v")
		switch module.Path {
		case "github.com/gin-gonic/gin":
			versions = append(versions, version{"Gin", number})
		case "gorm.io/gorm":
			versions = append(versions, version{"GORM", number})
		}
	}
	return versions
}

func wrkVersion(ctx context.Context) string {
	output, _ := exec.CommandContext(ctx, "wrk", "-v").CombinedOutput() // prints the version and exits with 1
	return firstGroup(regexp.MustCompile(`^wrk (\S+)`), string(output))
}

// timeFsync returns the median and the 99th percentile of the time of a durable write.
func timeFsync(path string) (median, p99 time.Duration, err error) {
	const writes = 300
	f, err := os.Create(filepath.Clean(path))
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var block [4096]byte
	took := make([]time.Duration, writes)
	for i := range took {
		start := time.Now()
		if _, err := f.WriteAt(block[:], 0); err != nil {
			return 0, 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, 0, err
		}
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	return took[writes/2], percentile99(took), nil
}
