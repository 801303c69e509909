//go:build cgo && unix

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"example.com/petstore/cmd/petstore/internal/telemetry"
	"example.com/petstore/internal/sqlite/backup"
	"example.com/petstore/usecase"
)

func newRestore(in *invocation) *cobra.Command {
	revokeKeys := false
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup in the place of the store",
		Long: `Put a copy of the backup FILE in the place of the store. Stop the service first: restore
returns an error while a process has the file of the store open.

The backup is verified first, and not changed. The previous store is not lost: it is kept
in its folder under the name of the store with .replaced-TIME, and restore prints how to go
back to it. If restore is interrupted or killed, the previous store or the backup is in
place, whole. A store that does not exist is created.

Until the copy is in place, its name is STORE.restored.NUMBER.partial. If the process is
killed, that file is left.

The restored store has no changes: clients that follow them must read the lists again. The
next start of the service logs when the store was restored, and from which file.

API keys that are revoked in the previous store stay revoked. If there is no previous store,
or if it is damaged, keys that were revoked after the backup work again: add --revoke-keys to
revoke all keys. If there is no previous store, the restored store gets a new identity, so
that backup --keep does not remove backups of the original store.

Do not copy a backup over the store by hand: after a crash, the WAL of the store (its name
ends with -wal) would be applied to the wrong file.`,
		Example: `  petstore restore monday.db
  petstore restore --set database.dsn=/var/lib/petstore/petstore.db monday.db
  petstore restore --revoke-keys monday.db`,
		Args: oneArg("name the FILE to restore"),
		RunE: func(cmd *cobra.Command, args []string) error { return in.restore(cmd.Context(), args[0], revokeKeys) },
	}
	cmd.Flags().BoolVar(&revokeKeys, "revoke-keys", false, "revoke all API keys of the backup before it is in place")
	return cmd
}

// restore replaces the store by a copy of the backup at path. If revokeKeys is true, all API keys of the copy are
// revoked.
func (in *invocation) restore(ctx context.Context, path string, revokeKeys bool) error {
	name, err := in.sqlitePath()
	if err != nil {
		return err
	}
	if err := checkBackup(path, name); err != nil {
		return err
	}
	store, err := fileBehindLink(name)
	if err != nil {
		return err
	}
	if err := backup.CheckNotOpen(ctx, store); err != nil { // checked before the copy, which may take long
		return err
	}
	file, err := createFile(store + ".restored")
	if err != nil {
		return err
	}
	defer file.discard()
	contents, err := in.copyStore(ctx, path, file, false)
	if err != nil {
		return err
	}
	result := fmt.Sprintf("restored %s from %s: %s", absolutePath(store), path, describeStore(contents))
	replaced, err := backup.Replace(context.WithoutCancel(ctx), store, file.Name(), usecase.Now(), revokeKeys)
	if err != nil && len(replaced.Kept) > 0 {
		err = fmt.Errorf("%w; renamed before: %s", err, strings.Join(replaced.Kept, ", "))
	}
	if err != nil {
		return err
	}
	if err := telemetry.RecordRestore(name, absolutePath(path)); err != nil {
		in.report("the log of the service will not have this restore: %v", err)
	}
	switch {
	case contents.Keys == 0:
	case revokeKeys:
		result += "\nall API keys are revoked: create others with petstore keys create"
	case replaced.KeysErr != nil:
		result += fmt.Sprintf("\n%v, so API keys that were revoked after the backup work in this one; --revoke-keys revokes all", replaced.KeysErr)
	}
	for _, name := range replaced.Kept {
		result += "\nkept " + name
	}
	if replaced.KeysErr == nil { // otherwise there was no previous store, or it cannot be read
		result += "\nto go back, run petstore restore " + replaced.Kept[0]
	}
	return in.printResult("%s", result)
}

// fileBehindLink returns the target of path if path is a symbolic link, and path otherwise. A rename to path would
// replace the link instead of the file.
func fileBehindLink(path string) (string, error) {
	target, err := filepath.EvalSymlinks(path)
	if err == nil {
		return target, nil
	}
	if info, lstatErr := os.Lstat(path); lstatErr != nil || info.Mode().Type() != fs.ModeSymlink {
		return path, nil //nolint:nilerr // the file is missing
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("it is a symbolic link to a file that does not exist")
	}
	return "", fmt.Errorf("restore the store %s: %w: correct the link", path, err)
}

// checkBackup returns an error if the file at path cannot be a backup of the store.
func checkBackup(path, store string) error {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no backup %s: correct the path", path)
	}
	if err == nil && isSameFile(path, store) {
		err = fmt.Errorf("%s is the store itself: name a backup", path)
	}
	return err
}
