package engine

import "database/sql"

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

// Rows are the first rows of a table, ascending by id, that a request with an id reads.
type Rows struct {
	Table    string
	Columns  string        // the names, separated by commas; one is id
	After    bool          // the rows after the id, else the row with it
	Category sql.NullInt64 // the category_id of the rows, NULL for any
	Statuses []string      // those of the rows, nil for any; "" is none if there is a Category
	Limit    int
}

// A SharedReader is a Database to which each query takes a round trip, so that one query is to read
// the rows of many requests.
type SharedReader interface {
	// SharedRead returns the query, with a ? for each of its arguments. It selects the index n of
	// a request in ids, from 1 on, and the columns of its rows, ascending by n and the id.
	SharedRead(rows Rows, ids []int64) (query string, args []any)
}
