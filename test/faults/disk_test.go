package faults

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"example.com/petstore/test/harness"
)

// A disk is the layer of testdata/disk.c below a server.
type disk struct {
	environ []string // of the server
	control string   // the path of the file with the faults
	log     string   // the path of the log
}

// faultsOf are the faults of a disk, as struct control of testdata/disk.c. The delay is in milliseconds.
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
	d.environ = []string{"LD_PRELOAD=" + library, "DISK_STORE=" + harness.StorePath(folder), "DISK_CONTROL=" + d.control, "PETSTORE_DATABASE_DSN=" + harness.StorePath(folder)}
	return d
}

// startLogged starts a server on a disk with a log, and returns the database as it was before, without a WAL.
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
	harness.Check(t, err)
	defer file.Close()
	harness.Check(t, binary.Write(file, binary.NativeEndian, f))
}

// An operation is a record of the log of a disk.
type operation struct {
	header
	data []byte // of a write
}

type header struct{ At, Kind, File, Offset, Length int64 }

// The kinds of operation and the files, as in testdata/disk.c.
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

// operations reads the log, whose last record may be incomplete.
func (d *disk) operations(t *testing.T) (all []operation) {
	t.Helper()
	text, err := os.ReadFile(d.log)
	harness.Check(t, err)
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
