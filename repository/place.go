package repository

import (
	"errors"
	"fmt"
	"os"
)

// A place is the path of the file that is open. SQLite goes on with a file that was
// moved away, but its WAL and every later connection go by the path: what is written
// then is lost, or spoils the file that is there now (sqlite.org/howtocorrupt.html,
// section 4.1).
type place struct {
	path string
	file os.FileInfo
}

var errMoved = errors.New("the file of the store was replaced or removed while it was open: stop the service, then restore it")

func newPlace(path string) (place, error) {
	file, err := os.Stat(path)
	return place{path, file}, err
}

// check returns an error once the path leads to another file, or to none.
func (p place) check() error {
	now, err := os.Stat(p.path)
	if err != nil {
		return fmt.Errorf("%w: %w", errMoved, err)
	}
	if !os.SameFile(now, p.file) {
		return errMoved
	}
	return nil
}
