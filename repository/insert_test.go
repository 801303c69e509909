package repository

import (
	"testing"

	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/test/testkit"
)

// A recordingTx records the statements and the values.
type recordingTx struct {
	engine.Tx
	statements []string
	values     []any
}

func (t *recordingTx) Queue(statement string, args ...any) error {
	t.statements, t.values = append(t.statements, statement), append(t.values, args...)
	return nil
}

func TestRowsAreInsertedWithFewStatements(t *testing.T) {
	t.Parallel()
	in, used := newInsert("pets", "id, name", ""), map[string]bool{}
	for n := range 200 {
		tx, want := &recordingTx{}, []any(nil)
		testkit.Check(t, in.rows(tx, n, func(i int, to []any) []any { return append(to, i, "Rex") }))
		for i := range n {
			want = append(want, i, "Rex")
		}
		testkit.Equal(t, "the values", want, tx.values)
		if most := 3 + n/64; len(tx.statements) > most {
			t.Errorf("%d rows took %d statements, want at most %d", n, len(tx.statements), most)
		}
		for _, statement := range tx.statements {
			used[statement] = true
		}
	}
	testkit.Equal(t, "the number of different statements", len(sizes), len(used))
	testkit.Equal(t, "whether two rows have a statement", true, used["INSERT INTO pets (id, name) VALUES ($1, $2), ($3, $4)"])
}
