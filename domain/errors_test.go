package domain_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"example.com/petstore/domain"
)

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
