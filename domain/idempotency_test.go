package domain_test

import (
	"strings"
	"testing"

	"example.com/petstore/domain"
)

func TestIdempotencyKeyIsVisibleASCII(t *testing.T) {
	t.Parallel()
	for value, valid := range map[string]bool{
		"a": true, "!~": true, `"`: true, strings.Repeat("k", 255): true,
		"": false, strings.Repeat("k", 256): false, "a b": false, "a\x7f": false, "é": false, "\t": false,
	} {
		err := domain.IdempotencyKey{Caller: "1", Value: value}.Validate()
		if valid && err != nil {
			t.Errorf("%q: got %v, want no error", value, err)
		}
		if !valid {
			wantInvalid(t, err, domain.CodeInvalidIdempotencyKey, "Idempotency-Key must be 1 to 255 visible ASCII characters")
		}
	}
}
