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
	ClaimedAt   int64 // in milliseconds, by the clock that only claims use
}

// Rows describes which rows of a table a request reads. The ids are the arguments of the request. Requests
// with equal Rows can share a query.
//
// If Page is false, a request reads the rows with its ids. If Page is true, it reads a page and has one id: the
// page has the first rows with a greater id. With Newest, it has the first rows with this or a smaller id.
type Rows struct {
	Table      string
	Columns    string // the column names, separated by commas; one of them is id
	Page       bool   // whether the request reads a page
	Newest     bool   // the rows are descending by id, otherwise ascending
	Limit      int    // the maximum number of rows of a page
	Column     string // if not empty, a page has only rows with Value in this column
	Value      int64
	Status     string // the SQL expression for the status, as in the index of a page; if empty, any status is read
	Statuses   string // the statuses of the rows of a page, separated by commas
	NullStatus bool   // an empty status in Statuses is stored as NULL
}

// Where returns the query for the rows that meet a condition.
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

// WithIDs returns the query for the rows with ids, and its arguments.
func (r Rows) WithIDs(ids []int64) (query string, args []any) {
	for _, id := range ids {
		args = append(args, id)
	}
	return r.Where("id IN (?" + strings.Repeat(", ?", len(ids)-1) + ") ORDER BY " + r.Order()), args
}

// A SharedReader is a Database on which each query takes a round trip. There, one query should read the
// rows for many requests.
type SharedReader interface {
	// SharedSelect returns one query for several requests, and its arguments, one for each ? of the query.
	// requests are the ids of each request. A row of the result has the index n of its request, and then
	// the columns of Rows. The result is in the order of n, and for each n in the order of Rows.
	SharedSelect(rows Rows, requests [][]int64) (query string, args []any)
}
