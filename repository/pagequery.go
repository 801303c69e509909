package repository

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"example.com/petstore/domain"
)

// A filter selects rows of a table. All conditions are optional.
type filter struct {
	column   string // if not empty, a row has value in this column
	value    int64
	statuses []string // if not empty, a row has one of these statuses
	text     string   // if not empty, the name_key of a row contains it
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
	id, behind, upTo, descending := startOf(p)
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

// startOf returns the first operand and the operators of the conditions for the ids of a page, and the direction of ORDER BY.
func startOf(p domain.PageRequest) (id int64, behind, upTo, descending string) {
	switch {
	case !p.Newest:
		return p.After, ">", "<=", ""
	case p.After <= 0:
		return math.MaxInt64, "<=", ">=", " DESC"
	}
	return p.After, "<", ">=", " DESC"
}

// windowQuery returns the query of the id of the last row of a window: of the first size rows of a page without a filter.
func (t table[T]) windowQuery(p domain.PageRequest, size int) (query string, args []any) {
	id, behind, _, descending := startOf(p)
	return "SELECT id FROM " + t.name + " WHERE id " + behind + " ? ORDER BY id" + descending + " LIMIT 1 OFFSET " + strconv.Itoa(size-1), []any{id}
}

// likePattern escapes a text for LIKE. A backslash as the escape character would depend on a setting of PostgreSQL.
var likePattern = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

// searchQuery returns the query of a page with a text, up to the id last, or to the last row if it is 0. A text may be in each
// name or in none, so only the ids limit the rows that are read: each index that the database may use has the ids behind
// the other conditions.
func (t table[T]) searchQuery(f filter, p domain.PageRequest, last int64) (query string, args []any) {
	id, behind, upTo, descending := startOf(p)
	if last == 0 && !p.Newest {
		last = math.MaxInt64
	}
	query = "SELECT " + t.columns + " FROM " + t.name + " WHERE id " + behind + " ? AND id " + upTo + " ? AND name_key LIKE ? ESCAPE '!'"
	args = []any{id, last, "%" + likePattern.Replace(f.text) + "%"}
	if f.column != "" {
		query, args = query+" AND "+f.column+" = ?", append(args, f.value)
	}
	if len(f.statuses) > 0 {
		query, args = query+" AND status IN ?", append(args, f.statuses)
	}
	return query + " ORDER BY id" + descending + " LIMIT " + strconv.Itoa(p.Limit+1), args
}
