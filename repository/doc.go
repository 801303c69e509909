// Package repository stores the records of the service in a database. Open returns a
// Store, which implements the ports of package domain; an engine, such as package
// repository/sqlite, connects it to a database.
//
// Most writes go through GORM. Queries and the statements of a POST run on GORM's
// connection pool directly, which takes less processor time (docs/performance.md). Rows
// are scanned by hand, with one function for each record: scanPet, scanOrder, scanKey,
// scanOutcome, scanImport.
package repository
