//go:build cgo && unix

package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"syscall"
	"time"

	"github.com/mattn/go-sqlite3"
	"golang.org/x/sys/unix"

	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/folder"
	"example.com/petstore/internal/sqlite/storefile"
	"example.com/petstore/repository/sqlite"
)

// Replace replaces the store at path, if there is one. The parameter with is the path of the new store, which
// must be complete and in the same folder. First Replace writes the WAL of the previous store to its file. It
// keeps that file as path.replaced-TIME, in UTC. If the process is killed at any time, either the previous or
// the new store is at path, complete, and the new store has no WAL of the previous one.
//
// The new store begins at a position that no store has used, without changes. New rows get no id of the previous store.
// An API key that is revoked in the previous store is revoked in the new one. With revokeKeys, all API keys are revoked.
//
// If the previous file is damaged, or its WAL belongs to another file, both are kept as they are. The WAL
// gets a name that SQLite does not look for. path must not be a symbolic link.
//
// If a process has the store open, or if the file at path is the database of another program, Replace returns
// an error and changes nothing.
func Replace(ctx context.Context, path, with string, now time.Time, revokeKeys bool) (Replaced, error) {
	r := newReplacement(path, with, now, revokeKeys)
	if err := r.run(ctx); err != nil {
		return r.result, fmt.Errorf("replace the store %s: %w", path, sqlite.New(path).Remedy(err))
	}
	return r.result, nil
}

// CheckNotOpen returns an engine.ErrInUse if a process has the store at path open.
func CheckNotOpen(ctx context.Context, path string) error {
	lock, err := storefile.LockAlone(ctx, path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, sqlite.New(path).Remedy(err))
	}
	return lock.Close()
}

// Replaced is what Replace has done, also if it returns an error.
type Replaced struct {
	Kept []string // the paths of all files that were kept, the file of the store first
	// KeysErr is why the API keys of the previous store could not be read. Keys that were revoked after the
	// backup can then be used again.
	KeysErr error
}

// A replacement is a call of Replace.
type replacement struct {
	path, with string
	now        time.Time
	revokeKeys bool
	suffix     string // the suffix of the files that are kept
	exists     bool   // whether there is a previous store
	result     Replaced
}

func newReplacement(path, with string, now time.Time, revokeKeys bool) *replacement {
	return &replacement{path: path, with: with, now: now, revokeKeys: revokeKeys, suffix: storefile.ReplacedSuffix(now)}
}

// run runs the steps. Meanwhile no process can open the store.
func (r *replacement) run(ctx context.Context) (err error) {
	lock, err := storefile.LockAlone(ctx, r.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	for _, step := range r.steps() {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// steps returns the steps of Replace. The process may be killed before and after each step. A step either
// changes only the new store, before it is in place, or changes one thing, which the file system or SQLite
// does completely or not at all.
func (r *replacement) steps() []func(context.Context) error {
	ifExists := func(step func(context.Context) error) func(context.Context) error {
		return func(ctx context.Context) error {
			if !r.exists {
				return nil
			}
			return step(ctx)
		}
	}
	return []func(context.Context) error{
		r.checkPrevious, ifExists(r.writeWAL), r.succeed,
		ifExists(r.copyOwner), ifExists(r.removeLink),
		r.moveAside("-journal"), r.moveAside("-wal"), r.moveAside("-shm"),
		ifExists(r.keepPrevious),
		func(context.Context) error { return os.Rename(r.with, r.path) },
		func(context.Context) error { return folder.Sync(r.path) },
	}
}

// checkPrevious rejects the database of another program. It accepts a file that SQLite cannot read.
func (r *replacement) checkPrevious(ctx context.Context) error {
	info, err := os.Stat(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return storefile.ErrNotRegular
	}
	r.exists = true
	pool := storefile.OpenPool(r.path, storefile.ImmutablePragmas)
	defer func() { _ = pool.Close() }()
	err = storefile.Identify(ctx, pool)
	tables, tablesErr := storefile.OtherTables(ctx, pool)
	if err != nil && tablesErr == nil && (tables != "" || !errors.Is(err, storefile.ErrNoStore)) {
		return storefile.ErrOtherProgram
	}
	return nil
}

// writeWAL writes the WAL of the previous store to its file and removes the WAL. No other process may have
// the store open. If the file is damaged, writeWAL leaves the file and its WAL as they are.
func (r *replacement) writeWAL(ctx context.Context) error {
	if err := storefile.CheckWAL(ctx, r.path); storefile.IsReplaced(err) || storefile.HasWAL(r.path) && isDamaged(ctx, r.path) {
		return nil
	}
	pool := storefile.OpenPool(r.path, url.Values{"mode": {"rw"}, "_busy_timeout": {"0"}})
	_, err := pool.ExecContext(ctx, "PRAGMA journal_mode = DELETE")
	err = errors.Join(err, pool.Close())
	switch storefile.Code(err) {
	case sqlite3.ErrBusy, sqlite3.ErrLocked:
		return engine.ErrInUse
	case sqlite3.ErrCorrupt, sqlite3.ErrNotADB:
		return nil
	}
	return err
}

// isDamaged reports whether a file is damaged even when it is read with its WAL. SQLite would still write
// the WAL to it.
func isDamaged(ctx context.Context, path string) bool {
	pool := storefile.OpenPool(path, storefile.ReaderPragmas)
	defer func() { _ = pool.Close() }()
	err := checkIntegrity(ctx, pool)
	return err != nil && storefile.Code(err) != sqlite3.ErrBusy && ctx.Err() == nil
}

// copyOwner gives the new store the permissions and the owner of the previous one.
func (r *replacement) copyOwner(context.Context) error {
	info, err := os.Stat(r.path)
	if err == nil {
		err = os.Chmod(r.with, info.Mode().Perm())
	}
	if err != nil {
		return err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && os.Chown(r.with, int(owner.Uid), int(owner.Gid)) != nil {
		return errors.New("it belongs to another user: run the command as that user")
	}
	return nil
}

// removeLink removes the second name of the previous store, if a killed Replace has left it.
func (r *replacement) removeLink(context.Context) error { return storefile.RemoveReplacedLink(r.path) }

// moveAside renames the WAL, the shared memory or the journal of the previous store, if it is still there.
func (r *replacement) moveAside(name string) func(context.Context) error {
	return func(context.Context) error {
		err := os.Rename(r.path+name, r.path+name+r.suffix)
		if err == nil {
			r.result.Kept = append(r.result.Kept, r.path+name+r.suffix)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
}

// keepPrevious gives the previous store a second name, by which it is kept.
func (r *replacement) keepPrevious(context.Context) error {
	err := os.Link(r.path, r.path+r.suffix)
	if errors.Is(err, unix.EPERM) || errors.Is(err, errors.ErrUnsupported) {
		return errors.New("the file system has no hard links: move the store to another one")
	}
	if err == nil {
		r.result.Kept = append([]string{r.path + r.suffix}, r.result.Kept...)
	}
	return err
}
