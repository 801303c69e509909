package engine

import (
	"database/sql"
	"strings"
)

// A Pet is a row of the table pets.
type Pet struct {
	ID         int64
	Name       string
	CategoryID int64
	Status     sql.NullString // NULL for an animal without a status
}

// A Claim is a row of the table idempotency_keys.
type Claim struct {
	Caller      string `gorm:"primaryKey"`
	Value       string `gorm:"primaryKey"`
	Fingerprint []byte
	Result      []byte
	ClaimedAt   int64 // in milliseconds of a clock of the claims
}

// Rows are rows of a table that a request with ids reads, in the order of their ids. Requests for equal Rows can
// share a query.
type Rows struct {
	Table      string
	Columns    string // the names, separated by commas; one is id
	Page       bool   // the first rows after the id, or up to it if Newest; else those with the ids
	Newest     bool   // descending by id, else ascending
	Limit      int    // of the rows of a page
	Column     string // a column that has Value in the rows of a page, "" for any rows
	Value      int64
	Status     string // the expression of the status in the index of a page, "" for rows with any status
	Statuses   string // of the rows, separated by commas
	NullStatus bool   // an empty one of Statuses is NULL
}

// Where returns the query of the rows that meet a condition.
func (r Rows) Where(condition string) string {
	return "SELECT " + r.Columns + " FROM " + r.Table + " WHERE " + condition
}

// Order returns the expression for the order of the rows.
func (r Rows) Order() string {
	if r.Newest {
		return "id DESC"
	}
	return "id"
}

// WithIDs returns the query of the rows with ids and its arguments.
func (r Rows) WithIDs(ids []int64) (query string, args []any) {
	for _, id := range ids {
		args = append(args, id)
	}
	return r.Where("id IN (?" + strings.Repeat(", ?", len(ids)-1) + ") ORDER BY " + r.Order()), args
}

// A SharedReader is a Database to which each query takes a round trip, so that one query is to read
// the rows of many requests.
type SharedReader interface {
	// SharedSelect returns the query, with a ? for each of its arguments. It selects the index n of
	// one of requests, which are ids, and the columns of its rows, in the order of n and then of the rows.
	SharedSelect(rows Rows, requests [][]int64) (query string, args []any)
}
