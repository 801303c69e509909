// Package usecase implements the operations of the store: each type has those of one
// aggregate, checks the rules of package domain and runs the transactions. It returns
// errors of package domain and logs nothing.
package usecase
