package repository

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"example.com/petstore/internal/engine"
)

// maxKeysOfQuery is the maximum number of keys of a query of a lookup. SQLite allows 500 parts of a query.
const maxKeysOfQuery = 64

// A lookup has the statements that find the rows of 1, 2, 4 … maxKeysOfQuery keys, each by an index. With IN, PostgreSQL
// would read all claims by their time until it has statistics about them: 0.65 times the POSTs with keys.
type lookup []string

// newLookup returns the lookup for a statement that finds the row of one key. The statement has the verb %d for each
// placeholder, one for each column of the key.
func newLookup(statement string) (l lookup) {
	columns := strings.Count(statement, "%d")
	for n := 1; n <= maxKeysOfQuery; n *= 2 {
		placeholders := make([]any, n*columns)
		for i := range placeholders {
			placeholders[i] = i + 1
		}
		l = append(l, fmt.Sprintf(statement+strings.Repeat(" UNION ALL "+statement, n-1), placeholders...))
	}
	return l
}

// queries returns the queries that find the rows of keys.
func (l lookup) queries(keys [][]any, fields []any, row func() error) (queries []engine.Query) {
	for few := range slices.Chunk(keys, maxKeysOfQuery) {
		few = padded(few) // a chunk has no capacity for the next one
		statement := l[bits.Len(uint(len(few)))-1]
		queries = append(queries, engine.Query{Statement: statement, Args: slices.Concat(few...), Fields: fields, Row: row})
	}
	return queries
}

// padded repeats the last of keys until their number is a power of two, so that few statements are prepared.
func padded[K any](keys []K) []K {
	for len(keys)&(len(keys)-1) != 0 {
		keys = append(keys, keys[len(keys)-1])
	}
	return keys
}
