package apikey

import (
	"slices"
	"strings"

	"example.com/petstore/domain"
)

// A Scope is a permission. An operation requires one scope, a key has some or all.
type Scope string

// The scopes. The inventory requires PetsRead. Placing, delivering or cancelling an order requires only OrdersWrite,
// although it changes the status of an animal.
const (
	PetsRead    Scope = "pets:read"
	PetsWrite   Scope = "pets:write"
	OrdersRead  Scope = "orders:read"
	OrdersWrite Scope = "orders:write"
	ChangesRead Scope = "changes:read"
)

// all are the scopes in the order in which a key lists them.
var all = []Scope{PetsRead, PetsWrite, OrdersRead, OrdersWrite, ChangesRead}

// Scopes are the scopes of a key, separated by commas. Empty Scopes allow every operation.
type Scopes string

// ReadOnly are the scopes of all operations that only read.
const ReadOnly = Scopes(PetsRead + "," + OrdersRead + "," + ChangesRead)

// ScopesRule is the rule for the scopes of a key, for error messages.
const ScopesRule = "must be one or more of pets:read, pets:write, orders:read, orders:write and changes:read, separated by commas"

// List returns the scopes as a slice, or nil if they are empty.
func (s Scopes) List() []string {
	if s == "" {
		return nil
	}
	return strings.Split(string(s), ",")
}

// Validate returns an ErrInvalid (validation_failed) if a scope is unknown.
func (s Scopes) Validate() error {
	for _, scope := range s.List() {
		if !slices.Contains(all, Scope(scope)) {
			return domain.Invalid(domain.CodeValidationFailed, domain.Violation{Field: "scope", Rule: ScopesRule})
		}
	}
	return nil
}

// Canonical returns valid scopes, each once and in a fixed order.
func (s Scopes) Canonical() Scopes {
	var canonical []string
	for _, scope := range all {
		if slices.Contains(s.List(), string(scope)) {
			canonical = append(canonical, string(scope))
		}
	}
	return Scopes(strings.Join(canonical, ","))
}

// Check returns an ErrForbidden unless the scopes allow an operation that requires a scope.
func (s Scopes) Check(required Scope) error {
	if s == "" || slices.Contains(s.List(), string(required)) {
		return nil
	}
	return domain.Forbidden("this operation requires an API key with the scope " + string(required))
}
