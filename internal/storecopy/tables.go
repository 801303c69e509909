package storecopy

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"

	"gorm.io/gorm"
)

// A copiedTable is a table that Copy copies.
type copiedTable struct {
	name    string
	columns string
	key     string // the columns of the primary key
}

// copiedTables are all tables with records, except changes. A row refers only to rows of tables that are earlier in the
// list.
var copiedTables = []copiedTable{
	{"pets", "id, name, name_key, category_id, status", "id"},
	{"categories", "id, name, available, pending, sold, none", "id"},
	{"orders", "id, pet_id, status, created_at, updated_at", "id"},
	{"api_keys", "id, hash, name, last_four, scopes, lineage, created_at, expires_at, revoked_at, last_used_at", "id"},
	{"idempotency_keys", "caller, value, fingerprint, result, claimed_at", "caller, value"},
	{"imports", "digest, added", "digest"},
}

// changesTable is copied unless other processes may change the source after the copy: then both stores would use the same
// positions for other changes.
var changesTable = copiedTable{"changes", "seq, type, at, caller, records", "seq"}

// countRows returns the number of rows of tables.
func countRows(db *gorm.DB, tables []copiedTable) (total int, err error) {
	for _, t := range tables {
		var rows int64
		err = cmp.Or(err, db.Table(t.name).Count(&rows).Error)
		total += int(rows)
	}
	return total, err
}

// read reads all rows of a table, ascending by the key. For each batch of rows it calls onRows with their
// values, and then add with their number. If onRows returns an error, read returns it.
func (t copiedTable) read(db *gorm.DB, add func(n int), onRows func(rows [][]any) error) (Table, error) {
	table, digest, encoded := Table{Name: t.name}, sha256.New(), []byte(nil)
	ctx, cancel := context.WithCancel(db.Statement.Context)
	rows, err := db.WithContext(ctx).Table(t.name).Select(t.columns).Order(t.key).Rows()
	if err != nil {
		cancel()
		return table, fmt.Errorf("table %s: %w", t.name, err)
	}
	defer rows.Close()
	defer cancel() // runs before rows.Close, which would otherwise read the rest of the result on PostgreSQL
	for {
		batch, err := nextRows(rows)
		for _, values := range batch {
			if err == nil {
				encoded, err = appendRow(encoded[:0], values)
				digest.Write(encoded)
			}
		}
		if err == nil {
			err = onRows(batch)
		}
		if err != nil {
			return table, fmt.Errorf("table %s: %w", t.name, err)
		}
		table.Rows += int64(len(batch))
		add(len(batch))
		if len(batch) < rowsPerTx {
			digest.Sum(table.SHA256[:0])
			return table, nil
		}
	}
}

// nextRows returns the values of the next rows, at most rowsPerTx.
func nextRows(rows *sql.Rows) (batch [][]any, err error) {
	columns, err := rows.Columns()
	dest := make([]any, len(columns))
	for err == nil && len(batch) < rowsPerTx && rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			dest[i] = &values[i]
		}
		batch, err = append(batch, values), rows.Scan(dest...)
	}
	return batch, cmp.Or(err, rows.Err())
}

// appendRow appends the values of a row to b, in an encoding that is the same on all engines: for each
// value its type, and then its bytes. The number of bytes is before a text or a blob.
func appendRow(b []byte, values []any) ([]byte, error) {
	for _, value := range values {
		switch value := value.(type) {
		case nil:
			b = append(b, 'n')
		case int64:
			b = binary.BigEndian.AppendUint64(append(b, 'i'), uint64(value)) //nolint:gosec // the same bits
		case string:
			b = append(binary.BigEndian.AppendUint64(append(b, 't'), uint64(len(value))), value...)
		case []byte:
			b = append(binary.BigEndian.AppendUint64(append(b, 'b'), uint64(len(value))), value...)
		default:
			return b, fmt.Errorf("a row has a value of the unexpected type %T", value)
		}
	}
	return b, nil
}
