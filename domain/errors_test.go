package domain_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
)

// wantError tests the kind, the code and the message of the error for a value.
func wantError(t *testing.T, value string, err error, kind domain.Kind, code domain.Code, message string) {
	t.Helper()
	if diff := cmp.Diff(error(&domain.Error{Kind: kind, Code: code, Message: message}), err); diff != "" {
		t.Errorf("%s: error (-want +got)\n%s", value, diff)
	}
}

// checkRule expects no error for valid values, and an ErrInvalid with the rule for invalid values.
func checkRule(t *testing.T, code domain.Code, rule string, valid, invalid []error) {
	t.Helper()
	for i, err := range valid {
		if err != nil {
			t.Errorf("%s, valid value %d: got %v", rule, i, err)
		}
	}
	for i, err := range invalid {
		wantError(t, fmt.Sprint("invalid value ", i), err, domain.ErrInvalid, code, rule)
	}
}

func TestKindAndCauseAreFoundThroughWrapping(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("list: %w", domain.Unavailable(io.ErrUnexpectedEOF))
	if !errors.Is(err, domain.ErrUnavailable) || !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, domain.ErrNotFound) {
		t.Errorf("errors.Is does not find the kind and the cause of %v", err)
	}
	if !errors.Is(domain.PetNotFound(1), domain.ErrNotFound) {
		t.Error("errors.Is does not find the kind of an error without a cause")
	}
}

func TestMessageHasNoCause(t *testing.T) {
	t.Parallel()
	var known *domain.Error
	if !errors.As(domain.Unavailable(io.ErrUnexpectedEOF), &known) {
		t.Fatal("got no *domain.Error")
	}
	if known.Message == known.Error() || known.Error() != known.Message+": unexpected EOF" {
		t.Errorf("got the message %q and the error %q, want the cause in the error only", known.Message, known.Error())
	}
	if again := domain.Unavailable(fmt.Errorf("ping: %w", known)); again.Error() != "ping: "+known.Error() {
		t.Errorf("Unavailable of an ErrUnavailable: got %v, want ping: %v", again, known)
	}
}
