package storefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrLinked is the error for a file with hard links. The WAL has the name of the file: whoever
// opens the file by another name uses another WAL (sqlite.org/howtocorrupt.html, section 2.5).
var ErrLinked = errors.New("the file of the store has a second name, a hard link, by which its WAL would not be found: remove that name")

// ReplacedSuffix begins the suffix of the names of the files that package backup keeps.
const ReplacedSuffix = ".replaced-"

// isLinked reports whether a file has more than one name.
func isLinked(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink > 1
}

// checkLinks rejects a file that has more than one name. It removes the one that a killed
// Replace has left.
func checkLinks(path string, info fs.FileInfo) error {
	if !isLinked(info) {
		return nil
	}
	if err := RemoveReplacedLink(path); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err == nil && isLinked(info) {
		err = ErrLinked
	}
	return err
}

// RemoveReplacedLink removes the second name of a store that a killed Replace has left.
func RemoveReplacedLink(path string) error {
	path = realPath(path)
	store, err := os.Stat(path)
	if err != nil {
		return err
	}
	folder := filepath.Dir(path)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), filepath.Base(path)+ReplacedSuffix) {
			continue
		}
		if info, err := entry.Info(); err == nil && os.SameFile(info, store) {
			err := os.Remove(filepath.Join(folder, entry.Name()))
			if errors.Is(err, fs.ErrNotExist) { // another process has removed it
				return nil
			}
			return err
		}
	}
	return nil
}
