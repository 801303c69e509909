package apikey

import (
	"slices"
	"strings"

	"example.com/petstore/domain"
)

// A Scope is what an operation requires of a key.
type Scope string

// The scopes. The inventory requires PetsRead; an order requires OrdersWrite alone, although it changes its animal.
const (
	PetsRead    Scope = "pets:read"
	PetsWrite   Scope = "pets:write"
	OrdersRead  Scope = "orders:read"
	OrdersWrite Scope = "orders:write"
	ChangesRead Scope = "changes:read"
)

// Scopes are the scopes of a key, separated by commas. A key without any may do everything.
type Scopes string

// ReadOnly are the scopes of a key that may only read.
const ReadOnly = Scopes(PetsRead + "," + OrdersRead + "," + ChangesRead)

// ScopesRule is the rule of the scopes of a key, for error messages.
const ScopesRule = "must be one or more of pets:read, pets:write, orders:read, orders:write and changes:read, separated by commas"

// List returns the scopes one by one, nil if there are none.
func (s Scopes) List() []string {
	if s == "" {
		return nil
	}
	return strings.Split(string(s), ",")
}

// Validate returns an ErrInvalid (validation_failed) for a scope that is unknown.
func (s Scopes) Validate() error {
	for _, scope := range s.List() {
		if !slices.Contains([]Scope{PetsRead, PetsWrite, OrdersRead, OrdersWrite, ChangesRead}, Scope(scope)) {
			return domain.Invalid(domain.CodeValidationFailed, domain.Violation{Field: "scope", Rule: ScopesRule})
		}
	}
	return nil
}

// Check returns an ErrForbidden for an operation that requires a scope that a key does not have.
func (s Scopes) Check(required Scope) error {
	if s == "" || slices.Contains(s.List(), string(required)) {
		return nil
	}
	return domain.Forbidden("this operation requires an API key with the scope " + string(required))
}
