//go:build cgo && unix

package storefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// ErrLinked is the error for a file with hard links. The name of the WAL is made from the name of the file,
// so a process that opens the file by another name uses another WAL (sqlite.org/howtocorrupt.html, section
// 2.5).
var ErrLinked = errors.New("the file of the store has a second name, a hard link, by which its WAL would not be found: remove that name")

// replacedLayout is the layout, for package time, of the suffix of a file that was replaced.
const replacedLayout = ".replaced-20060102T150405.000Z"

// ReplacedSuffix returns the suffix for the names of files that are replaced at a time.
func ReplacedSuffix(now time.Time) string { return now.UTC().Format(replacedLayout) }

func isLinked(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && stat.Nlink > 1
}

// CheckLinks rejects a file that has a second name. First it removes a name that a killed backup.Replace
// has left.
func CheckLinks(path string) error {
	info, err := os.Stat(path)
	if err != nil || !isLinked(info) {
		return nil //nolint:nilerr // whoever opens the file finds the error
	}
	if err := RemoveReplacedLink(path); err != nil {
		return err
	}
	if info, err = os.Stat(path); err == nil && isLinked(info) {
		err = ErrLinked
	}
	return err
}

// CheckLinksOfBackup is CheckLinks, but accepts a file that is not in WAL mode, such as a backup: there is
// no WAL beside any of its names. This process must not have the file open, because CheckLinksOfBackup
// closes it, which would release the locks.
func CheckLinksOfBackup(path string) error {
	info, err := os.Stat(path)
	if err != nil || !isLinked(info) {
		return nil // whoever opens the file finds the error
	}
	file, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return err
	}
	defer file.Close()
	const versionOffset, walVersion = 18, 2 // sqlite.org/fileformat2.html, section 1.3
	version := make([]byte, 1)
	if _, err := file.ReadAt(version, versionOffset); err == nil && version[0] == walVersion {
		return CheckLinks(path)
	}
	return nil // whoever reads a file without a header finds the error
}

// RemoveReplacedLink removes the second name of a store that a killed backup.Replace has left.
func RemoveReplacedLink(path string) error {
	path = realPath(path)
	store, err := os.Stat(path)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		suffix, _ := strings.CutPrefix(entry.Name(), filepath.Base(path))
		if _, err := time.Parse(replacedLayout, suffix); err != nil {
			continue
		}
		if info, err := entry.Info(); err != nil || !os.SameFile(info, store) {
			continue
		}
		err := os.Remove(filepath.Join(filepath.Dir(path), entry.Name()))
		if !errors.Is(err, fs.ErrNotExist) { // otherwise another process has removed it
			return err
		}
	}
	return nil
}
