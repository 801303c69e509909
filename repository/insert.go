package repository

import (
	"strconv"
	"strings"

	"example.com/petstore/internal/engine"
)

// sizes are the numbers of rows that a statement may insert, the largest first. So few statements are prepared, and a batch
// takes few of them: 63 rows take three, with powers of two alone they would take six.
var sizes = [...]int{64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1}

// An insert has the statements that insert rows into a table, one for each of sizes. GORM's Create would take 15 µs more for
// a row, of about 40 µs for a request.
type insert struct {
	columns    int
	statements [len(sizes)]string
}

// newInsert returns the statements for the columns of a table. suffix is added to each.
func newInsert(table, columns, suffix string) *insert {
	in := insert{columns: 1 + strings.Count(columns, ",")}
	row := make([]string, in.columns)
	for i, size := range sizes {
		rows := make([]string, size)
		for r := range rows {
			for c := range row {
				row[c] = "$" + strconv.Itoa(r*len(row)+c+1)
			}
			rows[r] = "(" + strings.Join(row, ", ") + ")"
		}
		in.statements[i] = "INSERT INTO " + table + " (" + columns + ") VALUES " + strings.Join(rows, ", ") + suffix
	}
	return &in
}

// rows inserts n rows. values appends the values of row i.
func (in *insert) rows(tx engine.Tx, n int, values func(i int, to []any) []any) error {
	next := 0
	for s, size := range sizes {
		for ; n-next >= size; next += size {
			args := make([]any, 0, in.columns*size)
			for i := range size {
				args = values(next+i, args)
			}
			if err := tx.Queue(in.statements[s], args...); err != nil {
				return err
			}
		}
	}
	return nil
}
