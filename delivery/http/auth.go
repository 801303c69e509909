package http

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"example.com/petstore/domain"
)

// bearer is the Authenticator of API keys: Authorization: Bearer KEY, once, the
// scheme in any letter case (RFC 6750, section 2.1).
func bearer(keys Keys) Authenticator {
	return func(r *http.Request) (string, error) {
		headers := r.Header["Authorization"]
		if len(headers) > 1 {
			return "", domain.InvalidAPIKey()
		}
		scheme, secret, _ := strings.Cut(strings.Join(headers, ""), " ") // of one, or of none
		secret = strings.Trim(secret, " ")
		if !strings.EqualFold(scheme, "Bearer") || secret == "" {
			return "", domain.MissingAPIKey()
		}
		key, err := keys.Authenticate(r.Context(), secret)
		if err != nil {
			return "", err
		}
		return strconv.FormatInt(key.ID, 10), nil
	}
}

// challenge is the WWW-Authenticate of a 401 (RFC 6750, section 3): a request
// without a key learns the scheme, one with a wrong key that this was the fault.
func challenge(code domain.Code) string {
	if code == domain.CodeMissingAPIKey {
		return `Bearer realm="petstore"`
	}
	return `Bearer realm="petstore", error="invalid_token"`
}

// identify lets a request pass whose caller is known.
func (a *API) identify(c *gin.Context) {
	caller, err := a.authenticate(c.Request)
	if err != nil {
		a.fail(c, err)
		return
	}
	exchangeOf(c).caller = caller
}
