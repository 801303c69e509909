package repository

import (
	"strconv"
	"strings"

	"example.com/petstore/internal/engine"
)

// An insert has the statements that insert rows into a table: statement i inserts 1<<i rows. So few statements are
// prepared, and a batch of any size takes few of them. GORM's Create would take 15 µs more for a row, of about 40 µs
// for a request.
type insert struct {
	columns    int
	statements [7]string
}

// newInsert returns the statements for the columns of a table. suffix is added to each.
func newInsert(table, columns, suffix string) *insert {
	in := insert{columns: 1 + strings.Count(columns, ",")}
	row := make([]string, in.columns)
	for i := range in.statements {
		rows := make([]string, 1<<i)
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
	for next, size := 0, len(in.statements)-1; next < n; {
		if next+1<<size > n {
			size--
			continue
		}
		args := make([]any, 0, in.columns<<size)
		for i := range 1 << size {
			args = values(next+i, args)
		}
		if err := tx.Queue(in.statements[size], args...); err != nil {
			return err
		}
		next += 1 << size
	}
	return nil
}
