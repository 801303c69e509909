package faults

import (
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

// TestPowerLossLosesNoAcknowledgedWrite logs all writes and syncs of a server under load. It builds the
// states that a power loss at random moments may leave, and opens each state as the service does. Synced
// data is there. Of data that was not synced, any 512 bytes may be there.
func TestPowerLossLosesNoAcknowledgedWrite(t *testing.T) {
	for name, failing := range map[string]bool{"disk": false, "disk with failing syncs": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, random := newLoad(t), harness.Rand(t)
			s, d, database := startLogged(t)
			l.History.Uncertain = failing
			stop := l.to(s).Start(t.Context(), 16)
			for begun := time.Now(); time.Since(begun) < pick(2*time.Second, 4*time.Second); time.Sleep(150 * time.Millisecond) {
				if failing {
					d.inject(t, faultsOf{syncError: ioError})
					time.Sleep(20 * time.Millisecond)
					d.inject(t, faultsOf{})
				}
			}
			stop()
			s.Kill()
			operations, moments := d.operations(t), map[int]bool{}
			for range pick(10, 40) {
				moments[random.IntN(len(operations))] = true
			}
			images, path := newImages(database, random), harness.StorePath(t.TempDir())
			states, torn := 0, 0
			for n, o := range operations {
				images.apply(o)
				if !moments[n] {
					continue
				}
				check := func(keep func(sector int) bool) {
					states++
					testkit.Check(t, images.write(path, keep))
					problems, err := compare(t.Context(), path, l, o.At)
					if err := errors.Join(append(problems, err)...); err != nil {
						t.Errorf("the state %d: %v", states, err)
					}
				}
				check(func(int) bool { return true })  // all writes are there, as after SIGKILL
				check(func(int) bool { return false }) // only synced data is there
				tail := len(images.unsynced)
				ends, mixtures := min(tail, pick(8, 24)), min(tail, pick(3, 8))
				for n := range ends {
					check(func(sector int) bool { return sector < (n+1)*tail/(ends+1) })
				}
				for range mixtures {
					check(func(int) bool { return random.IntN(2) == 0 })
				}
				torn += ends + mixtures
			}
			t.Logf("%d states of %d operations of the disk, %d of them with torn pages; %v",
				states, len(operations), torn, l.History)
		})
	}
}

// images are the database and the WAL on a disk.
type images struct {
	synced   map[int64][]byte
	unsynced []sector // in the order of the writes
	random   *rand.Rand
	killed   bool // the server was killed, but the power stayed on: the kernel has all writes
	folderOK bool // whether the entry of the WAL in the folder was synced
}

// A sector is a write of at most 512 bytes, or a truncation, which has no data.
type sector struct {
	file, offset int64
	data         []byte
}

func newImages(database []byte, random *rand.Rand) *images {
	return &images{random: random, synced: map[int64][]byte{fileDatabase: slices.Clone(database), fileWAL: nil}}
}

// apply applies an operation of the log.
func (i *images) apply(o operation) {
	switch {
	case o.File == fileFolder:
		i.folderOK = i.folderOK || o.Kind == opSync
	case o.Kind == opCreate:
		i.folderOK = false
		i.sync(o.File, func() bool { return false })
		i.synced[o.File] = nil
	case o.Kind == opSync:
		i.sync(o.File, func() bool { return true })
	case o.Kind == opFailedSync: // the kernel drops what it could not write
		i.sync(o.File, func() bool { return i.killed || i.random.IntN(2) == 0 })
	case o.Kind == opTruncate:
		i.unsynced = append(i.unsynced, sector{o.File, o.Offset, nil})
	default:
		for part := range slices.Chunk(o.data, 512) {
			i.unsynced = append(i.unsynced, sector{o.File, o.Offset, part})
			o.Offset += int64(len(part))
		}
	}
}

// sync writes the unsynced sectors of a file for which keep returns true, and drops the others.
func (i *images) sync(file int64, keep func() bool) {
	i.unsynced = slices.DeleteFunc(i.unsynced, func(s sector) bool {
		if s.file == file && keep() {
			s.writeTo(i.synced)
		}
		return s.file == file
	})
}

// writeTo writes the sector to its file.
func (s sector) writeTo(files map[int64][]byte) {
	file := files[s.file]
	end := s.offset + int64(len(s.data))
	if grown := end - int64(len(file)); grown > 0 {
		file = append(file, make([]byte, grown)...)
	} else if s.data == nil {
		file = file[:end]
	}
	copy(file[s.offset:], s.data)
	files[s.file] = file
}

// write writes the files to a path, with the unsynced sectors for which keep returns true. If the entry of
// the WAL in the folder was not synced, keep decides about it, too: its number follows the last sector.
// write does not change the images.
func (i *images) write(path string, keep func(sector int) bool) error {
	files := map[int64][]byte{fileDatabase: slices.Clone(i.synced[fileDatabase]), fileWAL: slices.Clone(i.synced[fileWAL])}
	for n, s := range i.unsynced {
		if keep(n) {
			s.writeTo(files)
		}
	}
	err := errors.Join(os.RemoveAll(path+"-shm"), os.RemoveAll(path+"-wal"), os.WriteFile(path, files[fileDatabase], 0o600))
	if err == nil && len(files[fileWAL]) > 0 && (i.folderOK || keep(len(i.unsynced))) {
		err = os.WriteFile(path+"-wal", files[fileWAL], 0o600)
	}
	return err
}
