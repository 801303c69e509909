package faults

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"

	"example.com/petstore/test/harness"
)

// resources are what a server uses.
type resources struct {
	memory, heap, goroutines, descriptors, wal float64 // memory, the heap of Go and the WAL in MiB
}

// resources reads the metrics of a server whose store is in a folder.
func (s *server) resources(t *testing.T, folder string) (r resources) {
	t.Helper()
	response, err := harness.Client.Get(s.admin + "/metrics")
	harness.Check(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	harness.Check(t, err)
	for name, value := range map[string]*float64{
		"process_resident_memory_bytes": &r.memory, "go_memstats_heap_inuse_bytes": &r.heap, "go_goroutines": &r.goroutines, "process_open_fds": &r.descriptors,
	} {
		_, rest, _ := strings.Cut(string(text), "\n"+name+" ")
		number, _, _ := strings.Cut(rest, "\n")
		if *value, err = strconv.ParseFloat(number, 64); err != nil {
			t.Fatalf("the metric %s: %v", name, err)
		}
	}
	info, err := os.Stat(harness.StorePath(folder) + "-wal")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err == nil {
		r.wal = float64(info.Size()) / (1 << 20)
	}
	r.memory /= 1 << 20
	r.heap /= 1 << 20
	return r
}
