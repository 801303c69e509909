package domain_test

import (
	"strings"
	"testing"

	"example.com/petstore/domain"
)

func TestIdempotencyKeyValidate(t *testing.T) {
	t.Parallel()
	value := func(s string) error { return domain.IdempotencyKey{Caller: "till", Value: s}.Validate() }
	wantRule(t, value, domain.CodeInvalidIdempotencyKey, "Idempotency-Key must be 1 to 255 visible ASCII characters",
		[]string{"!", "~", strings.Repeat("k", 255)}, []string{"", "a b", "a\x7f", "ü", strings.Repeat("k", 256)})
	if (domain.IdempotencyKey{Value: "k"}).IsZero() || !(domain.IdempotencyKey{}).IsZero() {
		t.Error("only the zero value is no key")
	}
}
