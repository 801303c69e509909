package faults

import (
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"example.com/petstore/test/harness"
	"example.com/petstore/test/ledger"
)

// TestPowerLossLosesNoAcknowledgedWrite logs all writes and syncs of a server under load, builds
// the states that a power loss at random moments may leave, and opens each as the service does.
// What was synced is there; of what was not, any 512 bytes may be.
func TestPowerLossLosesNoAcknowledgedWrite(t *testing.T) {
	for name, failing := range map[string]bool{"disk": false, "disk with failing syncs": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, l := t.TempDir(), ledger.New()
			first := start(t, folder, "")
			first.Stop(t) // the database is whole on disk, without a WAL
			base, err := os.ReadFile(harness.StorePath(folder))
			harness.Check(t, err)
			d := newDisk(t, folder, true)
			s := start(t, folder, first.Key, d.environ...)
			c := s.clients(l)
			c.Uncertain = failing
			stop := c.Start(t.Context(), 16)
			for begun := time.Now(); time.Since(begun) < pick(2*time.Second, 4*time.Second); {
				if failing {
					d.inject(t, faultsOf{syncError: syscall.EIO})
					time.Sleep(20 * time.Millisecond)
					d.inject(t, faultsOf{})
				}
				time.Sleep(150 * time.Millisecond)
			}
			stop()
			s.Kill()
			p := powerLoss{ledger: l, folder: t.TempDir(), base: base, operations: d.operations(t)}
			p.check(t, pick(10, 40))
			t.Logf("%d states of %d operations of the disk, %d of them with torn pages; %v; lost 0, doubled 0", p.states, len(p.operations), p.torn, l)
		})
	}
}

// A powerLoss builds the states of a store after a power loss.
type powerLoss struct {
	ledger       *ledger.Ledger
	folder       string
	base         []byte // the database at the start
	operations   []operation
	states, torn int
}

// check checks the states at random moments.
func (p *powerLoss) check(t *testing.T, moments int) {
	t.Helper()
	cuts, random := make([]int, moments), harness.Rand(t)
	for i := range cuts {
		cuts[i] = 1 + random.IntN(len(p.operations))
	}
	slices.Sort(cuts)
	images, applied := newImages(p.base, random), 0
	for _, cut := range cuts {
		for _, o := range p.operations[applied:cut] {
			images.apply(o)
		}
		applied = cut
		at := p.operations[cut-1].at
		tail := images.unsynced()
		p.checkState(t, images, at, func(int) bool { return true })  // as after SIGKILL
		p.checkState(t, images, at, func(int) bool { return false }) // nothing but what was synced
		for n := range min(tail, pick(8, 24)) {
			end := (n + 1) * tail / (min(tail, pick(8, 24)) + 1) // torn at 512 bytes
			p.checkState(t, images, at, func(sector int) bool { return sector < end })
			p.torn++
		}
		for range min(tail, pick(3, 8)) {
			p.checkState(t, images, at, func(int) bool { return random.IntN(2) == 0 })
			p.torn++
		}
	}
}

// checkState opens the state in which those unsynced sectors were written that keep selects.
func (p *powerLoss) checkState(t *testing.T, images *images, at int64, keep func(sector int) bool) {
	t.Helper()
	p.states++
	path := harness.StorePath(p.folder)
	harness.Check(t, images.write(path, keep))
	differences, err := compare(t.Context(), path, p.ledger, at)
	if err := errors.Join(err, differences.Err()); err != nil {
		t.Errorf("the state %d: %v", p.states, err)
	}
}

const sectorSize = 512

// images are the database and the WAL on a disk.
type images struct {
	files    map[int64]*image
	random   *rand.Rand
	killed   bool // and not without power: the kernel has all that was written
	folderOK bool // whether the entry of the WAL in the folder was synced
}

// An image is a file: what was synced, and the operations since then.
type image struct {
	synced   []byte
	unsynced []operation
}

func newImages(database []byte, random *rand.Rand) *images {
	return &images{random: random, files: map[int64]*image{fileDatabase: {synced: slices.Clone(database)}, fileWAL: {}}}
}

// apply applies an operation of the log.
func (i *images) apply(o operation) {
	file := i.files[o.file]
	switch {
	case o.file == fileFolder:
		i.folderOK = i.folderOK || o.kind == opSync
	case o.kind == opCreate:
		i.folderOK = false
		*file = image{}
	case o.kind == opSync:
		file.sync(func(int) bool { return true })
	case o.kind == opFailedSync: // the kernel forgets what it could not write
		file.sync(func(int) bool { return i.killed || i.random.IntN(2) == 0 })
	default:
		file.unsynced = append(file.unsynced, o)
	}
}

// unsynced returns the number of sectors that were written and not synced.
func (i *images) unsynced() (sectors int) {
	for _, file := range i.files {
		for _, o := range file.unsynced {
			sectors += o.sectors()
		}
	}
	return sectors
}

// sectors returns the number of sectors of an operation, one for that of a truncation.
func (o operation) sectors() int { return max(1, (len(o.data)+sectorSize-1)/sectorSize) }

// sync applies those sectors of the operations that keep selects by their number.
func (f *image) sync(keep func(sector int) bool) {
	n := 0
	for _, o := range f.unsynced {
		for s := range o.sectors() {
			kept := keep(n)
			n++
			if !kept {
				continue
			}
			if o.kind == opTruncate {
				f.resize(o.offset)
				continue
			}
			part := o.data[s*sectorSize : min((s+1)*sectorSize, len(o.data))]
			at := o.offset + int64(s*sectorSize)
			if end := at + int64(len(part)); end > int64(len(f.synced)) {
				f.resize(end)
			}
			copy(f.synced[at:], part)
		}
	}
	f.unsynced = nil
}

// resize changes the length of the file.
func (f *image) resize(length int64) {
	if length <= int64(len(f.synced)) {
		f.synced = f.synced[:length]
		return
	}
	f.synced = append(f.synced, make([]byte, length-int64(len(f.synced)))...)
}

// write writes the files at a path, with those unsynced sectors that keep selects. It does not
// change the images.
func (i *images) write(path string, keep func(sector int) bool) error {
	n := 0
	for _, number := range slices.Sorted(maps.Keys(i.files)) {
		file := image{slices.Clone(i.files[number].synced), i.files[number].unsynced}
		before := n
		file.sync(func(sector int) bool { n++; return keep(before + sector) })
		name := path
		if number == fileWAL {
			name += "-wal"
		}
		if number == fileWAL && (len(file.synced) == 0 || !i.folderOK && !keep(n)) {
			if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		if err := os.WriteFile(name, file.synced, 0o600); err != nil {
			return err
		}
	}
	err := os.Remove(path + "-shm")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
