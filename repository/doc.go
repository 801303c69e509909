// Package repository keeps the store's records in a database. Open returns a Store,
// which implements the ports of package domain; an engine, such as package
// repository/sqlite, connects it to a database.
//
// Every statement goes through GORM (Raw and Exec, or its builder where that reads
// better), so that GORM rewrites placeholders for the engine and its plugins see the
// statement. Rows are scanned by hand, with one function for each record: scanPet,
// scanOrder, scanKey, scanOutcome.
package repository
