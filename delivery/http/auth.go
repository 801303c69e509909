package http

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
)

// An Authenticator returns the name of the caller of a request. The name is the scope of
// idempotency keys. It must not be a secret: it is logged, used as a label of metrics and
// stored. It has 1 to 500 characters, which are valid UTF-8, not only white space, and no
// control characters or noncharacters; any other one results in 500.
//
// The Authenticator can read from c what the middleware of the host stored there. It
// returns an error instead of writing a response: a domain.Error with a Code and the Kind
// domain.ErrUnauthenticated results in 401, one with domain.ErrForbidden in 403, and an error
// that is not a domain.Error with a Code in 500. An empty name without an error results in 401,
// too. A 401 has no WWW-Authenticate unless the Authenticator sets it with c.Header. A name that is
// returned with an error is logged, too, and with a 403 counts for the rate limit.
//
// To let a caller only read, return a domain.Forbidden unless IsSafe(c.Request.Method).
type Authenticator func(c *gin.Context) (caller string, err error)

// maxCaller is the maximum length of a caller in characters: PostgreSQL can index it with an idempotency key.
const maxCaller = 500

// IsSafe reports whether requests with the method only read, as those with GET and HEAD do.
// The other safe methods (RFC 9110, section 9.2.1) are not authenticated.
func IsSafe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// bearerAuthenticator returns the Authenticator for API keys. The caller is the id of the
// key.
func bearerAuthenticator(keys Keys) Authenticator {
	return func(c *gin.Context) (string, error) {
		secret, err := bearerToken(c.Request.Header)
		if err != nil {
			return "", err
		}
		key, err := keys.Authenticate(c.Request.Context(), secret)
		if key.ID == 0 { // unknown
			return "", err
		}
		stateOf(c).lineage = key.Lineage
		return strconv.FormatInt(key.ID, 10), cmp.Or(err, key.Scopes.Check(stateOf(c).required))
	}
}

// bearerToken returns the key of Authorization: Bearer KEY (RFC 6750, section 2.1). The
// scheme is not case-sensitive; the header must not be repeated.
func bearerToken(header http.Header) (string, error) {
	values := header["Authorization"]
	if len(values) > 1 {
		return "", apikey.Invalid(nil)
	}
	scheme, secret, _ := strings.Cut(strings.Join(values, ""), " ") // values may be empty
	secret = strings.Trim(secret, " ")
	if !strings.EqualFold(scheme, "Bearer") || secret == "" {
		return "", apikey.Missing()
	}
	return secret, nil
}

// setChallenge sets WWW-Authenticate if err is about the key of a request, or about its
// absence (RFC 6750, section 3).
func setChallenge(c *gin.Context, err error) {
	known, ok := errors.AsType[*domain.Error](err)
	switch {
	case !ok:
	case known.Code == domain.CodeMissingAPIKey:
		c.Header("WWW-Authenticate", `Bearer realm="petstore"`)
	case known.Kind == domain.ErrUnauthenticated:
		c.Header("WWW-Authenticate", `Bearer realm="petstore", error="invalid_token"`)
	case known.Kind == domain.ErrForbidden:
		c.Header("WWW-Authenticate", `Bearer realm="petstore", error="insufficient_scope"`)
	}
}

// admit returns a handler that authenticates the caller of a request, whose API key needs the scope, and limits the rate of
// its requests, those that it may not make included. It ends a request that is not admitted.
func (a *API) admit(scope apikey.Scope) gin.HandlerFunc {
	return func(c *gin.Context) {
		stateOf(c).required = scope
		caller, err := a.authenticator(c)
		if caller != "" && !domain.ValidName(caller, maxCaller) {
			caller, err = "", fmt.Errorf("the Authenticator returned %.100q, which is not the name of a caller (see rest.Authenticator)", caller)
		}
		if caller == "" && err == nil {
			err = domain.Unauthenticated("sign in first")
		}
		stateOf(c).caller = caller
		if err == nil || caller != "" && errors.Is(err, domain.ErrForbidden) {
			if stateOf(c).deprecated {
				a.countByCaller(a.metrics.deprecated, c)
			}
			if limited := a.limitRate(c); limited != nil {
				a.Fail(c, limited)
				return
			}
		}
		if err != nil {
			if a.bearer {
				setChallenge(c, err)
			}
			a.Fail(c, err)
		}
	}
}
