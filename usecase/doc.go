// Package usecase implements the operations of the service. Each type has those of one
// aggregate, checks the rules of package domain and runs the transactions. The package
// returns the errors of package domain and logs nothing.
package usecase
