//go:build faults

package faults

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
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

var compile = sync.OnceValues(func() (string, error) {
	library := filepath.Join(filepath.Dir(program), "disk.so")
	output, err := exec.Command("gcc", "-shared", "-fPIC", "-O2", "-Wall", "-o", library, "testdata/disk.c", "-ldl", "-pthread").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("compile testdata/disk.c: %w\n%s", err, output)
	}
	return library, err
})

// newDisk returns a disk without faults for the store in a folder, with a log if it is logged.
func newDisk(t *testing.T, folder string, logged bool) *disk {
	t.Helper()
	library, err := compile()
	check(t, err)
	temporary := t.TempDir()
	d := &disk{control: filepath.Join(temporary, "control"), log: filepath.Join(temporary, "log")}
	d.inject(t, faultsOf{})
	d.environ = []string{"LD_PRELOAD=" + library, "DISK_STORE=" + storePath(folder), "DISK_CONTROL=" + d.control, "PETSTORE_DATABASE_DSN=" + storePath(folder)}
	if logged {
		d.environ = append(d.environ, "DISK_LOG="+d.log)
	}
	return d
}

// inject replaces the faults of the disk.
func (d *disk) inject(t *testing.T, f faultsOf) {
	t.Helper()
	file, err := os.OpenFile(d.control, os.O_CREATE|os.O_WRONLY, 0o600)
	check(t, err)
	defer file.Close()
	check(t, binary.Write(file, binary.NativeEndian, []int32{int32(f.syncDelay.Milliseconds()), int32(f.syncError), int32(f.writeError), int32(f.readError), int32(f.goodSyncs)}))
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
	check(t, err)
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
