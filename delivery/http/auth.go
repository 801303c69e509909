package http

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"example.com/petstore/domain"
)

// bearer is the Authenticator of API keys. It sets the WWW-Authenticate of its 401.
func bearer(keys Keys) Authenticator {
	return func(c *gin.Context) (string, error) {
		secret, err := bearerToken(c.Request.Header)
		if err != nil {
			return "", challenge(c, err)
		}
		key, err := keys.Authenticate(c.Request.Context(), secret)
		if err != nil {
			return "", challenge(c, err)
		}
		return strconv.FormatInt(key.ID, 10), nil
	}
}

// bearerToken reads Authorization: Bearer KEY, once, the scheme in any letter case
// (RFC 6750, section 2.1).
func bearerToken(header http.Header) (string, error) {
	headers := header["Authorization"]
	if len(headers) > 1 {
		return "", domain.InvalidAPIKey()
	}
	scheme, secret, _ := strings.Cut(strings.Join(headers, ""), " ") // of one, or of none
	secret = strings.Trim(secret, " ")
	if !strings.EqualFold(scheme, "Bearer") || secret == "" {
		return "", domain.MissingAPIKey()
	}
	return secret, nil
}

// challenge sets the WWW-Authenticate of an ErrUnauthenticated (RFC 6750, section 3) and
// returns err: a request without a key gets the scheme, one with a wrong key the error, too.
func challenge(c *gin.Context, err error) error {
	known, ok := errors.AsType[*domain.Error](err)
	switch {
	case !ok || known.Kind != domain.ErrUnauthenticated:
	case known.Code == domain.CodeMissingAPIKey:
		c.Header("WWW-Authenticate", `Bearer realm="petstore"`)
	default:
		c.Header("WWW-Authenticate", `Bearer realm="petstore", error="invalid_token"`)
	}
	return err
}

// identify lets a request pass whose caller is known.
func (a *API) identify(c *gin.Context) {
	caller, err := a.authenticate(c)
	if err != nil {
		a.Fail(c, err)
		return
	}
	stateOf(c).caller = caller
}
