package faults

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

// TestFailingDiskRefusesWritesAndRecovers makes the disk fail for a while under load. The service recovers
// without a restart, a write that was refused is not in the store, and no response is wrong. If reads fail,
// a read that is not cached gets 503. Another process creates a key, so that SQLite reads from the disk again.
func TestFailingDiskRefusesWritesAndRecovers(t *testing.T) {
	for name, f := range map[string]faultsOf{
		"full":          {writeError: int32(unix.ENOSPC)},
		"read-only":     {writeError: int32(unix.EROFS)},
		"failing":       {writeError: ioError},
		"failing sync":  {syncError: ioError},
		"failing reads": {readError: ioError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, l := t.TempDir(), newLoad(t)
			d := newDisk(t, folder)
			s := start(t, folder, "", d.environ...)
			s.wantWrites(t, l, 32)
			refused := 0
			for range pick(2, 10) {
				_, body, err := s.Do(t.Context(), http.MethodGet, "/v1/pets?limit=100", "")
				testkit.Check(t, err)
				pets := petsOf(t, body)
				stop := l.to(s).Start(t.Context(), 32)
				time.Sleep(200 * time.Millisecond)
				d.inject(t, f)
				refused += s.refusedReads(t, pets)
				stop()
				harness.PrintedKey(t, folder, "create", "--name", "faults")
				l.to(s).During(t.Context(), 300*time.Millisecond, 32)
				d.inject(t, faultsOf{})
				if refused := s.refusedReads(t, pets); refused > 0 {
					t.Errorf("%d of %d reads were refused after the fault: %s", refused, len(pets), s.Log)
				}
				s.wantWrites(t, l, 32)
			}
			s.WantStatus(t, "/readyz", http.StatusOK)
			if l.History.Unavailable() == 0 || (refused > 0) != (f.readError != 0) {
				t.Errorf("got %d writes and %d reads with 503", l.History.Unavailable(), refused)
			}
			if _, metrics := harness.Get(t, s.admin+"/metrics"); name == "full" &&
				!regexp.MustCompile(`\npetstore_store_errors_total{kind="full"} [1-9]`).MatchString(metrics) {
				t.Errorf("got the metrics %s, want the errors counted", metrics)
			}
			s.stop(t, l)
			t.Logf("%v; %d reads with 503", l.History, refused)
		})
	}
}

type pet struct {
	ID   int64
	Name string
}

// petsOf decodes a page of animals.
func petsOf(t *testing.T, body string) (pets []pet) {
	t.Helper()
	testkit.Check(t, json.Unmarshal([]byte(body), &pets))
	return pets
}

// refusedReads reads animals and returns how many responses are 503. Each other response must be 200, or 404
// for an animal that the load has removed.
func (s *server) refusedReads(t *testing.T, pets []pet) (refused int) {
	t.Helper()
	for _, pet := range pets {
		status, body, err := s.Do(t.Context(), http.MethodGet, fmt.Sprint("/v1/pets/", pet.ID), "")
		testkit.Check(t, err)
		switch status {
		case http.StatusServiceUnavailable:
			refused++
		case http.StatusOK, http.StatusNotFound: // the animal was removed
		default:
			t.Errorf("GET /v1/pets/%d: got %d %s", pet.ID, status, body)
		}
	}
	return refused
}

// TestSlowDiskDelaysWritesOnly makes each sync take a second. Because clients share commits, every client
// is served. Reads do not wait.
func TestSlowDiskDelaysWritesOnly(t *testing.T) {
	folder, l := t.TempDir(), newLoad(t)
	d := newDisk(t, folder)
	s := start(t, folder, "", d.environ...)
	const syncDelay = time.Second
	d.inject(t, faultsOf{syncDelay: int32(syncDelay.Milliseconds())})
	begun := time.Now()
	stopReading := l.to(s).startReading(t, 4, 10*time.Millisecond)
	l.During(t.Context(), pick(3*time.Second, 30*time.Second), 64)
	stopReading()
	d.inject(t, faultsOf{})
	s.stop(t, l)
	p99 := l.History.Since(begun).Acknowledged(true).P99()
	if p99 >= syncDelay || p99 == 0 || l.History.Unavailable() > 0 {
		t.Errorf("the 99th percentile of a read is %v, want less than a sync; got %d responses with 503, want none", p99, l.History.Unavailable())
	}
	t.Logf("%v; the 99th percentile of a read is %v meanwhile", l.History, p99)
}

// TestLockedStoreIsWaitedFor locks the store in another process. Writes wait for five seconds and are then
// refused with 503. Reads are served.
func TestLockedStoreIsWaitedFor(t *testing.T) {
	for held, wantRefused := range map[time.Duration]bool{3 * time.Second: false, pick(7*time.Second, 30*time.Second): true} {
		t.Run(held.String(), func(t *testing.T) {
			t.Parallel()
			l := newLoad(t)
			s := start(t, t.TempDir(), "")
			unlock := harness.LockStore(t, harness.StorePath(s.folder))
			stop := l.to(s).Start(t.Context(), 16)
			time.Sleep(held / 2)
			s.WantStatus(t, "/v1/pets", http.StatusOK)
			time.Sleep(held / 2)
			unlock()
			stop()
			s.wantWrites(t, l, 16)
			if refused := l.History.Unavailable() > 0; refused != wantRefused {
				t.Errorf("got %d requests with 503, want some: %t", l.History.Unavailable(), wantRefused)
			}
			s.stop(t, l)
			t.Logf("%v", l.History)
		})
	}
}

// A disk is the layer of testdata/disk.c between a server and the file system.
type disk struct {
	environ []string // the environment of the server
	control string   // the path of the file with the faults
	log     string   // the path of the log
}

// faultsOf are the faults of a disk, the struct control of testdata/disk.c. syncDelay is in milliseconds. The
// errors are errnos; 0 means no error. goodSyncs is how many syncs succeed before syncError.
type faultsOf struct{ syncDelay, syncError, writeError, readError, goodSyncs int32 }

const ioError = int32(unix.EIO)

// newDisk returns a disk without faults for the store in a folder.
func newDisk(t *testing.T, folder string) *disk {
	t.Helper()
	temporary := t.TempDir()
	library := filepath.Join(temporary, "disk.so")
	compile := exec.CommandContext(t.Context(), "gcc", "-shared", "-fPIC", "-O2", "-Wall", "-o", library, "testdata/disk.c", "-ldl", "-pthread")
	if output, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("compile testdata/disk.c: %v\n%s", err, output)
	}
	d := &disk{control: filepath.Join(temporary, "control"), log: filepath.Join(temporary, "log")}
	d.inject(t, faultsOf{})
	d.environ = []string{
		"LD_PRELOAD=" + library, "DISK_STORE=" + harness.StorePath(folder), "DISK_CONTROL=" + d.control,
		"PETSTORE_DATABASE_DSN=" + harness.StorePath(folder),
	}
	return d
}

// startLogged starts a server on a disk with a log. It also returns the database file before the start,
// without a WAL.
func startLogged(t *testing.T) (s *server, d *disk, database []byte) {
	t.Helper()
	folder := t.TempDir()
	first := start(t, folder, "")
	first.Stop(t)
	d = newDisk(t, folder)
	database = []byte(harness.ReadFile(t, harness.StorePath(folder)))
	return start(t, folder, first.Key, append(d.environ, "DISK_LOG="+d.log)...), d, database
}

// inject replaces the faults of the disk.
func (d *disk) inject(t *testing.T, f faultsOf) {
	t.Helper()
	file, err := os.OpenFile(d.control, os.O_CREATE|os.O_WRONLY, 0o600)
	testkit.Check(t, err)
	defer file.Close()
	testkit.Check(t, binary.Write(file, binary.NativeEndian, f))
}

// An operation is a record of the log of a disk.
type operation struct {
	header
	data []byte // the data of a write
}

type header struct{ At, Kind, File, Offset, Length int64 }

// The kinds of operations and the files, as in testdata/disk.c.
const (
	opWrite = iota + 1
	opTruncate
	opSync
	opFailedSync
	opCreate

	fileDatabase = 1
	fileWAL      = 2
	fileFolder   = 3
)

// operations reads the log. Its last record may be incomplete.
func (d *disk) operations(t *testing.T) (all []operation) {
	t.Helper()
	text, err := os.ReadFile(d.log)
	testkit.Check(t, err)
	for log := bytes.NewReader(text); ; {
		var o operation
		if binary.Read(log, binary.NativeEndian, &o.header) != nil {
			return all
		}
		if o.Kind == opWrite {
			o.data = make([]byte, o.Length)
		}
		if _, err := io.ReadFull(log, o.data); err != nil {
			return all
		}
		all = append(all, o)
	}
}
