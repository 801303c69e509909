package faults

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/test/harness"
)

// A disk is the layer of testdata/disk.c below a server.
type disk struct {
	environ []string // of the server
	control string   // the path of the file with the faults
	log     string   // the path of the log
}

// faultsOf are the faults of a disk, see struct control of testdata/disk.c.
type faultsOf struct {
	syncDelay  time.Duration
	syncError  syscall.Errno
	writeError syscall.Errno
	readError  syscall.Errno
	goodSyncs  int // before syncError
}

// newDisk returns a disk without faults for the store in a folder, with a log if it is logged.
func newDisk(t *testing.T, folder string, logged bool) *disk {
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
	if logged {
		d.environ = append(d.environ, "DISK_LOG="+d.log)
	}
	return d
}

// inject replaces the faults of the disk.
func (d *disk) inject(t *testing.T, f faultsOf) {
	t.Helper()
	file, err := os.OpenFile(d.control, os.O_CREATE|os.O_WRONLY, 0o600)
	harness.Check(t, err)
	defer file.Close()
	harness.Check(t, binary.Write(file, binary.NativeEndian, []int32{int32(f.syncDelay.Milliseconds()), int32(f.syncError), int32(f.writeError), int32(f.readError), int32(f.goodSyncs)}))
}

// An operation is a record of the log of a disk.
type operation struct {
	at, kind, file, offset, length int64
	data                           []byte // of a write
}

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
	const size = 40
	for len(text) >= size {
		number := func(i int) int64 { return int64(binary.NativeEndian.Uint64(text[8*i:])) }
		o := operation{at: number(0), kind: number(1), file: number(2), offset: number(3), length: number(4)}
		text = text[size:]
		if o.kind == opWrite {
			if int64(len(text)) < o.length {
				break
			}
			o.data, text = text[:o.length], text[o.length:]
		}
		all = append(all, o)
	}
	return all
}
