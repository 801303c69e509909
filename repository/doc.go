// Package repository stores the records of the service in a database. Open returns a Store, which
// implements the ports of package internal/port. An engine, such as package repository/sqlite, connects the
// Store to a database.
//
// Each table has a model in models.go and a repository, such as pets.go, which has its statements. GORM runs them, except
// those that insert many rows (insert.go). pagequery.go makes the queries of pages.
//
// A transaction (transaction.go) collects what it changes (collect.go). Package groupcommit lets callers share a transaction.
// Package freshness tells caches which entries are stale.
package repository
