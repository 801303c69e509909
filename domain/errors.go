package domain

import (
	"errors"
	"strings"
)

// A Kind is the sort of failure that a caller acts on. It is an error itself,
// so errors.Is(err, domain.ErrNotFound) holds through any wrapping.
type Kind string

func (k Kind) Error() string { return string(k) }

// The kinds of failure that the rules and the store know.
const (
	// ErrInvalid is a value that breaks a rule; asking again changes nothing.
	ErrInvalid Kind = "invalid"
	// ErrUnauthenticated is a caller who has not shown who they are.
	ErrUnauthenticated Kind = "unauthenticated"
	// ErrForbidden is a caller who is known but may not do this.
	ErrForbidden Kind = "forbidden"
	// ErrNotFound is a record that does not exist.
	ErrNotFound Kind = "not found"
	// ErrConflict is an act that the present state does not allow.
	ErrConflict Kind = "conflict"
	// ErrReused is an idempotency key that came with another request before.
	ErrReused Kind = "reused"
	// ErrUnavailable is a store that cannot answer now; the same may succeed later.
	ErrUnavailable Kind = "unavailable"
)

// A Code names one failure for machines. The list is closed and published:
// a code never changes its meaning nor its Kind.
type Code string

// The codes of the rules; those of the transport stand in delivery/http.
const (
	CodeValidationFailed      Code = "validation_failed"
	CodeInvalidParameter      Code = "invalid_parameter"
	CodeInvalidIdempotencyKey Code = "invalid_idempotency_key"
	CodeMissingAPIKey         Code = "missing_api_key"
	CodeInvalidAPIKey         Code = "invalid_api_key"
	CodeForbidden             Code = "forbidden"
	CodePetNotFound           Code = "pet_not_found"
	CodeOrderNotFound         Code = "order_not_found"
	CodePetNotAvailable       Code = "pet_not_available"
	CodeOrderStateConflict    Code = "order_state_conflict"
	CodeIdempotencyInProgress Code = "idempotency_in_progress"
	CodeIdempotencyKeyReused  Code = "idempotency_key_reused"
	CodeUnavailable           Code = "unavailable"
)

// An Error is a failure with what its caller may be told. Message and
// Violations are for the caller, Cause is for the log alone.
type Error struct {
	Kind       Kind
	Code       Code
	Message    string
	Violations []Violation
	Cause      error
}

// A Violation is one broken rule of one field, named in the words of the API:
// Field "categoryId", Rule "is required".
type Violation struct {
	Field string
	Rule  string
}

// Error is the line for the log: the message and what caused it.
func (e *Error) Error() string {
	if e.Cause == nil {
		return e.Message
	}
	return e.Message + ": " + e.Cause.Error()
}

// Unwrap lets errors.Is and errors.As see the Kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}

// Invalid is one ErrInvalid that tells all violations in one message. Without a
// violation it is nil, so that a validator can end with it.
func Invalid(code Code, violations ...Violation) error {
	if len(violations) == 0 {
		return nil
	}
	rules := make([]string, len(violations))
	for i, v := range violations {
		rules[i] = v.Field + " " + v.Rule
	}
	return &Error{Kind: ErrInvalid, Code: code, Message: strings.Join(rules, "; "), Violations: violations}
}

// Forbidden is an ErrForbidden with a message for the caller.
func Forbidden(message string) error {
	return &Error{Kind: ErrForbidden, Code: CodeForbidden, Message: message}
}

// Unavailable is an ErrUnavailable with its cause for the log, or a cause that is one already.
func Unavailable(cause error) error {
	if known, ok := errors.AsType[*Error](cause); ok && known.Kind == ErrUnavailable {
		return cause
	}
	return &Error{
		Kind: ErrUnavailable, Code: CodeUnavailable,
		Message: "the store cannot answer at the moment, try again", Cause: cause,
	}
}
