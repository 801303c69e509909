// Package usecase is what the store does: each type offers the acts on one
// aggregate, checks the rules of the domain and draws the line around each
// transaction. It returns errors of package domain and logs nothing.
package usecase
