// Package repository stores the records of the service in a database. Open returns a Store, which
// implements the ports of package domain/port; an engine, such as package repository/sqlite, connects
// it to a database.
//
// Each table has a model in models.go. Its repository, such as pets.go, runs the statements with GORM, but for three kinds,
// which differ between the engines: those that read animals and orders (Select, see reader.go), that add animals, and that
// find and store the claims of their idempotency keys (see creation.go). Callers share a
// transaction (package groupcommit); versions tell caches what is stale (package freshness).
package repository
