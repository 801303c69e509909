package repository

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"math"
	"strings"

	"gorm.io/gorm"
)

// A copiedTable is a table that Copy copies.
type copiedTable struct {
	name    string
	key     string // the columns of the primary key
	columns []string
	hasIDs  bool // that the database assigns
}

// copiedTables are all tables with data. A row refers only to rows of earlier tables.
var copiedTables = []copiedTable{
	{"pets", "id", []string{"id", "name", "category_id", "status"}, true},
	{"orders", "id", []string{"id", "pet_id", "status", "created_at", "updated_at"}, true},
	{"api_keys", "id", []string{"id", "hash", "name", "last_four", "created_at", "expires_at", "revoked_at", "last_used_at", "read_only"}, true},
	{"idempotency_keys", "caller, value", []string{"caller", "value", "fingerprint", "result", "claimed_at"}, false},
	{"imports", "digest", []string{"digest", "added", "complete", "updated_at"}, false},
}

// each calls fn with the values of up to limit rows after the first skip ones, ascending by
// the key, until fn returns an error. The slice of the values is used again for the next row.
func (t copiedTable) each(ctx context.Context, pool gorm.ConnPool, skip, limit int64, fn func(values []any) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rows, err := pool.QueryContext(ctx, fmt.Sprintf("SELECT %s FROM %s ORDER BY %s LIMIT %d OFFSET %d", strings.Join(t.columns, ", "), t.name, t.key, limit, skip))
	if err != nil {
		return err
	}
	defer rows.Close()
	r, err := newRow(rows)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := rows.Scan(r.dest...); err != nil {
			return err
		}
		if err := fn(r.values); err != nil {
			cancel() // on PostgreSQL Close would read the rest of the result
			return err
		}
	}
	return rows.Err()
}

// insertSQL returns the statement that inserts a number of rows.
func (t copiedTable) insertSQL(rows int) string {
	values := "(" + strings.Repeat("?, ", len(t.columns)-1) + "?)"
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES %s%s", t.name, strings.Join(t.columns, ", "), strings.Repeat(values+", ", rows-1), values)
}

// deleteSQL returns the statement that deletes up to a number of rows.
func (t copiedTable) deleteSQL(rows int) string {
	return fmt.Sprintf("DELETE FROM %s WHERE (%s) IN (SELECT %s FROM %s LIMIT %d)", t.name, t.key, t.key, t.name, rows)
}

// allRows is a limit.
const allRows = math.MaxInt64

// digest returns the digest of up to limit rows. It calls onRow after each.
func (t copiedTable) digest(ctx context.Context, pool gorm.ConnPool, limit int64, onRow func(n int)) (*digest, error) {
	d := &digest{hash: sha256.New()}
	return d, t.each(ctx, pool, 0, limit, func(values []any) error {
		defer onRow(1)
		return d.add(values)
	})
}

// A digest is the SHA-256 of rows, which is the same on all engines.
type digest struct {
	rows   int64
	hash   hash.Hash
	buffer []byte
}

// add adds a row. A value is encoded as its type, then its bytes with their number before.
func (d *digest) add(values []any) error {
	b := d.buffer[:0]
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
			return fmt.Errorf("a row has a value of the unexpected type %T", value)
		}
	}
	d.rows++
	d.buffer = b
	_, err := d.hash.Write(b)
	return err
}

func (d *digest) sum() (sum [sha256.Size]byte) {
	d.hash.Sum(sum[:0])
	return sum
}

// equal reports whether both have the same rows.
func (d *digest) equal(other *digest) bool { return d.rows == other.rows && d.sum() == other.sum() }
