package http

import (
	"strings"

	"github.com/gin-gonic/gin"

	"example.com/petstore/domain"
)

// idempotencyKey returns the key of the header Idempotency-Key, or the zero key without
// one. The header may occur once. Its value is the key or a quoted string (RFC 9651,
// section 3.3.3) of it. The error is an ErrInvalid (invalid_idempotency_key).
func idempotencyKey(c *gin.Context) (domain.IdempotencyKey, error) {
	values := c.Request.Header.Values("Idempotency-Key")
	if len(values) == 0 {
		return domain.IdempotencyKey{}, nil
	}
	if len(values) > 1 {
		return domain.IdempotencyKey{}, domain.Invalid(
			domain.CodeInvalidIdempotencyKey, domain.Violation{Field: "Idempotency-Key", Rule: "must be given once"},
		)
	}
	key := domain.IdempotencyKey{Caller: stateOf(c).caller, Value: values[0]}
	if strings.HasPrefix(key.Value, `"`) {
		key.Value = unquote(key.Value)
	}
	return key, key.Validate()
}

// unquote returns the content of a quoted string, or "" if it is malformed.
func unquote(quoted string) string {
	var content strings.Builder
	for i := 1; i < len(quoted); i++ {
		switch b := quoted[i]; b {
		case '"':
			if i == len(quoted)-1 {
				return content.String()
			}
			return ""
		case '\\':
			i++
			if i == len(quoted) || (quoted[i] != '"' && quoted[i] != '\\') {
				return ""
			}
			content.WriteByte(quoted[i])
		default:
			content.WriteByte(b)
		}
	}
	return ""
}
