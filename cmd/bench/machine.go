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

// A machine is what was measured on, and with.
type machine struct {
	cpu, kernel     string
	cores           int
	load            string // the average of the minute before
	versions        []version
	fsync, fsyncP99 time.Duration // a write of 4 KiB and its fsync
}

type version struct{ of, is string }

// inspect describes this machine and its disk, by a file in a folder.
func inspect(ctx context.Context, folder string) (machine, error) {
	m := machine{
		cpu:    first(regexp.MustCompile(`(?m)^model name\s*: (.*)$`), file("/proc/cpuinfo")),
		load:   first(regexp.MustCompile(`^(\S+)`), file("/proc/loadavg")),
		kernel: strings.TrimSpace(file("/proc/sys/kernel/osrelease")),
		cores:  runtime.NumCPU(),
	}
	sqlite, _, _ := sqlite3.Version()
	m.versions = append(builtWith(), version{"SQLite", sqlite}, version{"wrk", wrkVersion(ctx)})
	var err error
	m.fsync, m.fsyncP99, err = timeFsync(filepath.Join(folder, "fsync"))
	return m, err
}

// file is what stands in a file, nothing when it cannot be read: a report without
// the name of a processor is still one.
func file(path string) string {
	text, _ := os.ReadFile(filepath.Clean(path))
	return string(text)
}

// builtWith tells what this program and petstore, built together, are made of.
func builtWith() []version {
	versions := []version{{"Go", strings.TrimPrefix(runtime.Version(), "go")}}
	build, _ := debug.ReadBuildInfo()
	if build == nil {
		return versions
	}
	for _, name := range []string{"Gin github.com/gin-gonic/gin", "GORM gorm.io/gorm"} {
		of, path, _ := strings.Cut(name, " ")
		for _, module := range build.Deps {
			if module.Path == path {
				versions = append(versions, version{of, strings.TrimPrefix(module.Version, "v")})
			}
		}
	}
	return versions
}

func wrkVersion(ctx context.Context) string {
	said, _ := exec.CommandContext(ctx, "wrk", "-v").CombinedOutput() // it fails, having said it
	return first(regexp.MustCompile(`^wrk (\S+)`), string(said))
}

// timeFsync writes a file many times, durably, and returns the median and the 99th
// percentile of what a time took.
func timeFsync(path string) (median, p99 time.Duration, err error) {
	const times = 300
	f, err := os.Create(filepath.Clean(path))
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var block [4096]byte
	took := make([]time.Duration, times)
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
	return took[times/2], took[times*99/100], nil
}
