package repository

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"example.com/petstore/domain"
)

// A filter selects rows of a table. Both conditions are optional.
type filter struct {
	column   string // if not empty, a row has value in this column
	value    int64
	statuses []string // if not empty, a row has one of these statuses
}

// filterOf returns the filter for a value in a column, if value is not nil, and for statuses. A filter by a column needs
// the statuses, because the index of the column has them before the ids: without statuses, all are selected.
func filterOf[S ~string](column string, value *int64, statuses, all []S) filter {
	f := filter{}
	if value != nil {
		f.column, f.value = column, *value
		if len(statuses) == 0 {
			statuses = all
		}
	}
	for _, status := range statuses {
		f.statuses = append(f.statuses, string(status))
	}
	return f
}

// pageQuery returns the query of a page and its arguments. It reads one row more than the page has. A page with statuses
// merges the rows of each status, which an index has in the order of ids. The limit is a literal: SQLite prepares a statement
// again when an argument of LIMIT is bound, which takes a sixth of the processor time of a page.
//
// PostgreSQL assumes that a status is spread evenly. Ordered by id alone, it would use the primary key and read rows of other
// statuses until it has found enough, possibly the whole table. With rowValues, the query of a status S is therefore ordered
// by (status, id), and its conditions are (status, id) > (S, id) and status <= S. SQLite does not use the id in an index for
// a comparison of row values.
func (t table[T]) pageQuery(f filter, p domain.PageRequest, rowValues bool) (query string, args []any) {
	id, behind, upTo, descending := p.After, ">", "<=", ""
	if p.Newest {
		behind, upTo, descending = "<", ">=", " DESC"
		if p.After <= 0 {
			id, behind = math.MaxInt64, "<="
		}
	}
	ordered := func(by string) string {
		return " ORDER BY " + by + "id" + descending + " LIMIT " + strconv.Itoa(p.Limit+1)
	}
	from := "SELECT " + t.columns + " FROM " + t.name + " WHERE "
	if f.column != "" {
		from += f.column + " = ? AND "
	}
	if len(f.statuses) == 0 {
		return from + "id " + behind + " ?" + ordered(""), []any{id}
	}
	part := from + "status = ? AND id " + behind + " ?"
	if rowValues {
		part = from + "(status, id) " + behind + " (?, ?) AND status " + upTo + " ?" + ordered("status"+descending+", ")
	}
	for _, status := range f.statuses {
		if f.column != "" {
			args = append(args, f.value)
		}
		if args = append(args, status, id); rowValues {
			args = append(args, status)
		}
	}
	parts := slices.Repeat([]string{part}, len(f.statuses))
	switch {
	case rowValues && len(parts) == 1:
		return part, args
	case rowValues:
		return "SELECT * FROM ((" + strings.Join(parts, ") UNION ALL (") + ")) AS page" + ordered(""), args
	}
	return strings.Join(parts, " UNION ALL ") + ordered(""), args
}
