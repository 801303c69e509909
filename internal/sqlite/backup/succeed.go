//go:build cgo && unix

package backup

import (
	"context"
	"errors"
	"fmt"
	"os"

	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/sqlite/schema"
	"example.com/petstore/internal/sqlite/storefile"
)

// succeed makes the new store the successor of the previous store, after writeWAL has written the WAL of
// the previous store to its file.
//
//   - An API key that is revoked in the previous store is revoked in the new one. If it is revoked in both,
//     the earlier time applies.
//   - New rows get ids that neither store has given out.
//   - The new store has the identity of the previous one. If the previous store cannot be read, the new one
//     keeps its own identity. If there was no previous store, it gets a new identity, because a store that is
//     restored for a trial must not count the backups of the original store as its own.
//   - The changes are removed, because the previous store has used the positions after the backup for other
//     changes. New changes get positions that neither store has used.
func (r *replacement) succeed(ctx context.Context) error {
	previous := storefile.OpenPool(r.path, storefile.ImmutablePragmas)
	defer func() { _ = previous.Close() }()
	var last engine.State // of the previous store, zero if it cannot be read
	_ = previous.QueryRowContext(ctx, "SELECT "+engine.StateColumns+" FROM store").Scan(last.Fields()...)
	revocations := "{}" // the times of revocation in milliseconds, by hash
	switch {
	case !r.exists:
		r.result.KeysErr = errors.New("no store was replaced")
	case storefile.HasWAL(r.path): // writeWAL has left the WAL
		r.result.KeysErr = errors.New("the replaced store is damaged, or has the WAL of another file")
	default:
		const query = "SELECT json_group_object(hex(hash), revoked_at) FROM api_keys WHERE revoked_at IS NOT NULL"
		err := storefile.CheckNotOverwritten(ctx, previous)
		if err == nil {
			err = previous.QueryRowContext(ctx, query).Scan(&revocations)
		}
		if err != nil {
			r.result.KeysErr = fmt.Errorf("the replaced store cannot be read (%w)", err)
		}
	}

	pool := storefile.OpenPool(r.with, targetPragmas)
	_, err := schema.Check(ctx, pool, true)
	change := func(statement string, args ...any) {
		if err == nil {
			_, err = pool.ExecContext(ctx, statement, args...)
		}
	}
	// Both stores have used positions for changes that the other one has not. The clock may be wrong, and the random number
	// lets several restores of the same backup begin at other positions.
	change(`UPDATE store SET last_pet = max(last_pet, ?), last_order = max(last_order, ?), last_key = max(last_key, ?),
		position = max(position, ?, ?) + 1 + (random() & 0xffffffffff)`, last.LastPet, last.LastOrder, last.LastKey, last.Position, r.now.UnixMicro())
	change("UPDATE store SET altered = position, kept_after = position; DELETE FROM changes")
	change(`UPDATE api_keys SET revoked_at = min(COALESCE(revoked_at, previous.value), previous.value)
		FROM json_each(?) AS previous WHERE previous.key = hex(hash)`, revocations)
	if r.revokeKeys {
		change("UPDATE api_keys SET revoked_at = max(created_at, ?1) WHERE revoked_at IS NULL OR revoked_at > ?1", r.now.UnixMilli())
	}
	if identity, unknown := storefile.Identity(ctx, previous); err == nil && (!r.exists || unknown == nil) {
		err = storefile.SetIdentity(ctx, pool, identity)
	}
	if err := errors.Join(err, pool.Close()); err != nil {
		return fmt.Errorf("change %s: %w", r.with, err)
	}
	file, err := os.Open(r.with)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Sync()
}
