package postgres

import (
	"fmt"
	"strings"

	"example.com/petstore/repository/engine"
)

// Select implements engine.Database.
func (*database) Select(rows engine.Rows, ids []int64) (query string, args []any) {
	if !rows.Page {
		return rows.WithIDs(ids)
	}
	return selectPage(rows, "?", ids[0])
}

// SharedSelect implements engine.SharedReader.
func (*database) SharedSelect(rows engine.Rows, requests [][]int64) (query string, args []any) {
	var ids, numbers []int64
	for n, request := range requests {
		for _, id := range request {
			ids, numbers = append(ids, id), append(numbers, int64(n))
		}
	}
	query = rows.Where("id = wanted.id")
	if rows.Page {
		query, args = selectPage(rows, "wanted.id")
	}
	query = "SELECT n, found.* FROM unnest(CAST(? AS bigint[]), CAST(? AS bigint[])) AS wanted (id, n), LATERAL (" + query + ") AS found"
	return query + " ORDER BY n, found." + rows.Order(), append([]any{&ids, &numbers}, args...) // GORM would expand slices
}

// selectPage returns the query of a page, and its arguments. id is the SQL expression for the id of the
// request (see engine.Rows), with the arguments idArgs.
//
// If the page has statuses, the query reads the rows of each status separately, through an index that has
// the status before the id. (Only the orders of one animal have no such index.) PostgreSQL assumes that a
// status is spread evenly. If the query were ordered by id alone, it would use the primary key and read
// rows of other statuses until it has found enough, possibly the whole table. So the query for a status S is
// ordered by (status, id), and has the conditions (status, id) > (S, id of the request) and status <= S. With
// Newest, the order is descending, and the conditions have <= instead of > and >= instead of <=. The query does
// not have the condition status = S, because PostgreSQL would then order by id alone.
func selectPage(rows engine.Rows, id string, idArgs ...any) (query string, args []any) {
	behind, upTo, status := " > ", " <= ", rows.Status+", "
	if rows.Newest {
		behind, upTo, status = " <= ", " >= ", rows.Status+" DESC, "
	}
	var parts []string
	add := func(format, condition, order string, before ...any) {
		if args = append(args, before...); rows.Column != "" {
			condition, args = rows.Column+" = ? AND "+condition, append(args, rows.Value)
		}
		parts = append(parts, fmt.Sprintf(format, rows.Where(condition)+" ORDER BY "+order+rows.Order()+" LIMIT ?"))
		args = append(append(args, idArgs...), rows.Limit)
	}
	var known []string
	for one := range strings.SplitSeq(rows.Statuses, ",") {
		switch {
		case rows.Status == "":
			add("(%s)", "id"+behind+id, "")
		case one == "" && rows.NullStatus:
			add("(%s)", rows.Status+" IS NULL AND id"+behind+id, status)
		default:
			known = append(known, one)
		}
	}
	if known != nil {
		add("(SELECT part.* FROM unnest(CAST(? AS text[])) AS one (status), LATERAL (%s) AS part)",
			"("+rows.Status+", id)"+behind+"(one.status, "+id+") AND "+rows.Status+upTo+"one.status", status, &known)
	}
	return "SELECT * FROM (" + strings.Join(parts, " UNION ALL ") + ") AS page ORDER BY " + rows.Order() + " LIMIT ?", append(args, rows.Limit)
}
