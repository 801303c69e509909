package repository

import (
	"strconv"
	"strings"

	"example.com/petstore/internal/engine"
)

// An insert has the statements that insert rows into a table: element i inserts 1<<i rows. So few statements are
// prepared, and a batch of any size takes few of them. GORM's Create would take 15 µs more for a row, of about 40 µs
// for a request.
type insert [7]string

// newInsert returns the statements for the columns of a table. suffix is added to each.
func newInsert(table, columns, suffix string) (in insert) {
	row := make([]string, 1+strings.Count(columns, ","))
	for i := range in {
		rows := make([]string, 1<<i)
		for r := range rows {
			for c := range row {
				row[c] = "$" + strconv.Itoa(r*len(row)+c+1)
			}
			rows[r] = "(" + strings.Join(row, ", ") + ")"
		}
		in[i] = "INSERT INTO " + table + " (" + columns + ") VALUES " + strings.Join(rows, ", ") + suffix
	}
	return in
}

// rows inserts n rows. values appends the values of row i.
func (in *insert) rows(tx engine.Tx, n int, values func(i int, to []any) []any) error {
	for next, size := 0, len(in)-1; next < n; {
		if next+1<<size > n {
			size--
			continue
		}
		args := []any(nil)
		for i := range 1 << size {
			args = values(next+i, args)
		}
		if err := tx.Queue(in[size], args...); err != nil {
			return err
		}
		next += 1 << size
	}
	return nil
}
