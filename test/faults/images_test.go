package faults

import (
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
)

const sectorSize = 512

// images are the database and the WAL on a disk.
type images struct {
	files    map[int64]*image
	random   *rand.Rand
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
		file.sync(func(int) bool { return i.random.IntN(2) == 0 })
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
