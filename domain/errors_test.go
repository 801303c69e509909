package domain_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"example.com/petstore/domain"
)

func TestKindAndCauseAreFoundThroughWrapping(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("list: %w", domain.Unavailable(io.ErrUnexpectedEOF))
	if !errors.Is(err, domain.ErrUnavailable) || !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, domain.ErrNotFound) {
		t.Errorf("%v has lost its kind or cause", err)
	}
	if !errors.Is(domain.PetNotFound(1), domain.ErrNotFound) {
		t.Error("an error without a cause has lost its kind")
	}
}

func TestMessageHasNoCause(t *testing.T) {
	t.Parallel()
	var known *domain.Error
	if !errors.As(domain.Unavailable(io.ErrUnexpectedEOF), &known) {
		t.Fatal("not a domain.Error")
	}
	if known.Message == known.Error() || known.Error() != known.Message+": unexpected EOF" {
		t.Errorf("message %q, error %q", known.Message, known.Error())
	}
	if again := domain.Unavailable(fmt.Errorf("ping: %w", known)); again.Error() != "ping: "+known.Error() {
		t.Errorf("what is unavailable already says so twice: %v", again)
	}
}
