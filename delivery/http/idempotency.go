package http

import (
	"strings"

	"github.com/gin-gonic/gin"

	"example.com/petstore/domain"
)

// idempotencyKey reads the header Idempotency-Key, which comes at most once: bare,
// or as a string of RFC 9651 (section 3.3.3), where both mean the same key.
func idempotencyKey(c *gin.Context) (domain.IdempotencyKey, error) {
	given := c.Request.Header.Values("Idempotency-Key")
	if len(given) == 0 {
		return domain.IdempotencyKey{}, nil
	}
	if len(given) > 1 {
		return domain.IdempotencyKey{}, domain.Invalid(
			domain.CodeInvalidIdempotencyKey, domain.Violation{Field: "Idempotency-Key", Rule: "must be given once"},
		)
	}
	key := domain.IdempotencyKey{Caller: stateOf(c).caller, Value: given[0]}
	if strings.HasPrefix(key.Value, `"`) {
		key.Value = unquote(key.Value)
	}
	return key, key.Validate()
}

// unquote returns what a quoted string holds, and nothing for one that is malformed.
func unquote(quoted string) string {
	var held strings.Builder
	for i := 1; i < len(quoted); i++ {
		switch b := quoted[i]; b {
		case '"':
			if i == len(quoted)-1 {
				return held.String()
			}
			return ""
		case '\\':
			i++
			if i == len(quoted) || (quoted[i] != '"' && quoted[i] != '\\') {
				return ""
			}
			held.WriteByte(quoted[i])
		default:
			held.WriteByte(b)
		}
	}
	return ""
}
