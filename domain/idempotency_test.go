package domain_test

import (
	"strings"
	"testing"

	"example.com/petstore/domain"
)

func TestIdempotencyKeyHas1To255VisibleASCIICharacters(t *testing.T) {
	t.Parallel()
	key := func(s string) error { return domain.IdempotencyKey{Caller: "till", Value: s}.Validate() }
	checkRule(t, domain.CodeInvalidIdempotencyKey, "Idempotency-Key must be 1 to 255 visible ASCII characters",
		[]error{key("!"), key("~"), key(strings.Repeat("k", 255))},
		[]error{key(""), key("a b"), key("a\x7f"), key("ü"), key(strings.Repeat("k", 256))})
}
