// Package repository stores the records of the service in a database. Open returns a Store, which
// implements the ports of package domain/port. An engine, such as package repository/sqlite, connects the
// Store to a database.
//
// Each table has a model in models.go and a repository, such as pets.go, which runs the statements with
// GORM. Three kinds of statements differ between engines, so engines provide them: reads of animals, orders
// and changes (engine.Database.Select, see reader.go), inserts of animals, and reads and inserts of claims of
// idempotency keys (see creation.go).
//
// Package groupcommit lets callers share a transaction. Package freshness tells caches which entries are
// stale.
package repository
