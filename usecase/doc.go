// Package usecase implements the operations of the service. Each type implements the operations on one kind of record,
// such as animals: it checks the rules of package domain and runs the transactions. The package returns the errors of
// package domain, and logs nothing.
// A host gets Pets, Orders, Categories, Changes and Keys from petstore.Service. Importer, Replacer and Seeder are for commands.
package usecase
