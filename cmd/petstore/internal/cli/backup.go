//go:build cgo && unix

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/cmd/petstore/internal/telemetry"
	"example.com/petstore/internal/sqlite/backup"
	"example.com/petstore/usecase"
)

// sqliteCommands returns the commands for SQLite stores.
func sqliteCommands(in *invocation) []*cobra.Command {
	return []*cobra.Command{newBackup(in), newRestore(in)}
}

func newBackup(in *invocation) *cobra.Command {
	keep := 0
	cmd := &cobra.Command{
		Use:   "backup {FILE | --keep N FOLDER}",
		Short: "Write a verified copy of the store to a file",
		Long: `Write a copy of the store, as it is now, to FILE, also while the service runs. FILE gets
its name when the copy is complete, verified and on disk. A file that exists is never
overwritten.

Until then its name is FILE.NUMBER.partial. If the process is killed, that file is left.

With --keep, write the copy to a file in FOLDER that is named after the time in UTC, then
remove older backups of the same store from FOLDER, so that N are left. Backups of the same
store contain the same number, the identity of the store. The .partial files of killed backups
are removed after a day. Other files are not removed.

An empty file beside the store has the time of the last backup, for the metrics of the service.

A backup contains everything in the store: animals, orders, idempotency keys and the hashes
of the API keys. Only its owner can read it. "petstore restore FILE" puts it back.`,
		Example: `  petstore backup monday.db
  petstore backup --keep 7 /var/backups/petstore`,
		Args: func(cmd *cobra.Command, args []string) error {
			err := oneArg("name the FILE to write, or with --keep the FOLDER")(cmd, args)
			if err == nil && args[0] == stdio {
				err = errors.New("a backup is verified as a file, and cannot be written to standard output: name a FILE, then read that")
			}
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if keep > 0 {
				return in.backupToFolder(cmd.Context(), args[0], keep)
			}
			if info, err := os.Stat(args[0]); err == nil && info.IsDir() {
				return fmt.Errorf("%s is a folder: name a new file in it, or add --keep N to keep the latest N backups there", args[0])
			}
			return in.backup(cmd.Context(), args[0])
		},
	}
	cmd.Flags().Func("keep", "write to a folder, and keep the latest `N` backups in it", func(value string) (err error) {
		if keep, err = strconv.Atoi(value); err != nil || keep < 1 {
			return errors.New("must be a number of at least 1")
		}
		return nil
	})
	return cmd
}

// backup writes a backup of the store to a new file at path. It returns an error if path exists.
func (in *invocation) backup(ctx context.Context, path string) error {
	store, err := in.sqlitePath()
	if err != nil {
		return err
	}
	file, err := createFile(path)
	if err != nil {
		return err
	}
	defer file.discard()
	contents, err := in.copyStore(ctx, store, file, true)
	if err == nil {
		err = file.publish()
	}
	if ctx.Err() == nil {
		if recordErr := telemetry.RecordBackup(store, err); recordErr != nil {
			in.report("the metrics of the service do not have this backup: %v", recordErr)
		}
	}
	if err != nil {
		return err
	}
	return in.printResult("wrote %s: %s", path, describeStore(contents))
}

// copyStore copies the store at path to file, and reports the progress on stderr. If shared is true, it leaves time for
// other processes that use the store.
func (in *invocation) copyStore(ctx context.Context, path string, file *newFile, shared bool) (backup.Contents, error) {
	bar := &progress{}
	defer func() { bar.stop() }()
	var add func(kib int)
	contents, err := backup.Copy(ctx, path, file.File, func(copied, total int) {
		if add == nil {
			bar = newProgress(in.Stderr, "KiB", total)
			if add = bar.add; shared {
				add = bar.throttled(ctx)
			}
		}
		add(copied - bar.done)
	})
	if err != nil && ctx.Err() != nil {
		err = errors.New("interrupted: nothing was written")
	}
	return contents, err
}

// describeStore returns a text for people about the contents of a store.
func describeStore(c backup.Contents) string {
	return fmt.Sprintf("%s, %s, %s, schema version %d, %d bytes, verified",
		counted(c.Pets, "animal"), counted(c.Orders, "order"), counted(c.Keys, "API key"), c.SchemaVersion, c.Bytes)
}

const backupLayout = "petstore-20060102T150405.000Z.db"

// backupName matches the names of backups, and of the files that a killed backup has left.
var backupName = regexp.MustCompile(`^petstore-\d{8}T\d{6}\.\d{3}Z\.db(\.\d+\.partial)?$`)

// backupToFolder writes a backup to a folder. Then it removes older backups of the same store, so that keep backups are
// left, and the .partial files of killed backups that are more than a day old.
func (in *invocation) backupToFolder(ctx context.Context, folder string, keep int) error {
	name := usecase.Now().Format(backupLayout)
	if err := in.backup(ctx, filepath.Join(folder, name)); err != nil {
		return err
	}
	store, err := backup.Identity(ctx, filepath.Join(folder, name))
	if err != nil {
		in.report("no older backup was removed: %v", err)
		return nil
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var older []string // sorted by time; a newer backup, of another process, is not in it
	for _, entry := range entries {
		path, parts := filepath.Join(folder, entry.Name()), backupName.FindStringSubmatch(entry.Name())
		switch {
		case parts == nil || entry.Name() >= name:
		case parts[1] != "":
			if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > day { // a process may still write a newer one
				_ = os.Remove(path)
			}
		default:
			if id, err := backup.Identity(ctx, path); err == nil && id == store {
				older = append(older, path)
			}
		}
	}
	for _, path := range older[:max(0, len(older)-keep+1)] {
		err := os.Remove(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process has removed it
		}
		if err == nil {
			_, err = fmt.Fprintln(in.Stdout, "removed", printable(path))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sqlitePath returns the path of the store, or an error if the store is not a file.
func (in *invocation) sqlitePath() (string, error) {
	settings, err := in.loadConfig()
	if err == nil && settings.Database.Driver != "sqlite" {
		err = errors.New("backup and restore are for SQLite stores: use pg_dump and pg_restore for this one")
	}
	return settings.Database.DSN, err
}
