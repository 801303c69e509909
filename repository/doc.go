// Package repository stores the records of the service in a database. Open returns a Store, which
// implements the ports of package domain/port; an engine, such as package repository/sqlite, connects
// it to a database.
//
// Each table has a model in models.go. Its repository, such as pets.go, runs the statements with
// GORM, except those that add animals (creation.go), which the engine runs. Callers share a
// transaction (package groupcommit); versions tell caches what is stale (package freshness).
package repository
