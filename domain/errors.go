package domain

import (
	"errors"
	"strings"
)

// A Kind classifies an error for the code that handles it. It is itself an error, so that
// errors.Is(err, domain.ErrNotFound) works through any wrapping.
type Kind string

// Error returns the name of the kind.
func (k Kind) Error() string { return string(k) }

// The kinds of error of the rules and of the store.
const (
	// ErrInvalid is a value that breaks a rule; a retry does not help.
	ErrInvalid Kind = "invalid"
	// ErrUnauthenticated is a request without valid credentials.
	ErrUnauthenticated Kind = "unauthenticated"
	// ErrForbidden is an operation that the caller is not allowed to perform.
	ErrForbidden Kind = "forbidden"
	// ErrNotFound is a record that does not exist.
	ErrNotFound Kind = "not found"
	// ErrExpired is data or an operation that is no longer available.
	ErrExpired Kind = "expired"
	// ErrConflict is an operation that the current state does not allow.
	ErrConflict Kind = "conflict"
	// ErrPrecondition is an operation on another version of a record than the caller expects.
	ErrPrecondition Kind = "precondition failed"
	// ErrReused is an idempotency key that was used for a different request.
	ErrReused Kind = "reused"
	// ErrUnavailable is a store that cannot serve the request now; a retry may succeed.
	ErrUnavailable Kind = "unavailable"
)

// A Code identifies an error for clients. The list is closed and published: a code never
// changes its meaning or its Kind.
type Code string

// The codes of the rules. The codes of the transport are in delivery/http and internal/binding.
const (
	CodeValidationFailed      Code = "validation_failed"
	CodeInvalidParameter      Code = "invalid_parameter"
	CodeInvalidIdempotencyKey Code = "invalid_idempotency_key"
	CodeUnauthenticated       Code = "unauthenticated"
	CodeMissingAPIKey         Code = "missing_api_key"
	CodeInvalidAPIKey         Code = "invalid_api_key"
	CodeForbidden             Code = "forbidden"
	CodePetNotFound           Code = "pet_not_found"
	CodeOrderNotFound         Code = "order_not_found"
	CodeCategoryNotFound      Code = "category_not_found"
	CodeChangesExpired        Code = "changes_expired"
	CodePetNotAvailable       Code = "pet_not_available"
	CodePetOrdered            Code = "pet_ordered"
	CodePreconditionFailed    Code = "precondition_failed"
	CodeOrderStateConflict    Code = "order_state_conflict"
	CodeIdempotencyKeyReused  Code = "idempotency_key_reused"
	CodeUnavailable           Code = "unavailable"
)

// An Error is the error type of this package. Message is for the caller. Cause is only for the log.
type Error struct {
	Kind    Kind
	Code    Code
	Message string
	Cause   error
}

// A Violation names a field of the API and the rule that it violates, such as "categoryId" and "is required".
type Violation struct {
	Field string
	Rule  string
}

// Error returns the message and the cause, for the log.
func (e *Error) Error() string {
	if e.Cause == nil {
		return e.Message
	}
	return e.Message + ": " + e.Cause.Error()
}

// Unwrap returns the Kind and the Cause, for errors.Is and errors.As.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}

// Invalid returns an ErrInvalid whose message lists all violations, or nil without any.
func Invalid(code Code, violations ...Violation) error {
	if len(violations) == 0 {
		return nil
	}
	rules := make([]string, len(violations))
	for i, v := range violations {
		rules[i] = v.Field + " " + v.Rule
	}
	return &Error{Kind: ErrInvalid, Code: code, Message: strings.Join(rules, "; ")}
}

// Unauthenticated returns an ErrUnauthenticated (unauthenticated) with a message for the caller.
func Unauthenticated(message string) error {
	return &Error{Kind: ErrUnauthenticated, Code: CodeUnauthenticated, Message: message}
}

// Forbidden returns an ErrForbidden with a message for the caller.
func Forbidden(message string) error {
	return &Error{Kind: ErrForbidden, Code: CodeForbidden, Message: message}
}

// Unavailable returns an ErrUnavailable with the cause. If the cause is an ErrUnavailable itself, Unavailable returns it
// unchanged.
func Unavailable(cause error) error {
	if known, ok := errors.AsType[*Error](cause); ok && known.Kind == ErrUnavailable {
		return cause
	}
	return &Error{
		Kind: ErrUnavailable, Code: CodeUnavailable,
		Message: "the service is temporarily unavailable, try again", Cause: cause,
	}
}
