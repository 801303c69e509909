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

// An Authenticator returns the name of the caller of a request. Idempotency keys and the rate limit are per caller.
// The name is logged, stored and used as a label of metrics, so it must not be a secret. It must be valid UTF-8 of
// 1 to 500 characters, not only white space, without control characters and noncharacters; any other name results
// in 500.
//
// An Authenticator can read from c what the middleware of the host has stored there. To reject a request, it returns an
// error; it must not send a response. The error determines the status:
//
//	401   a domain.Error with a Code and the Kind domain.ErrUnauthenticated; also an empty name without an error
//	403   a domain.Error with a Code and the Kind domain.ErrForbidden
//	503   a domain.Error with a Code and the Kind domain.ErrUnavailable
//	500   an error that is not a domain.Error with a Code
//
// A 401 has no WWW-Authenticate, unless the Authenticator sets it with c.Header. An Authenticator may return a name
// with an error: then the name is logged, and a 403 counts for the rate limit of the caller.
//
// For a stream of changes, the Authenticator is called again twice a second, without the middleware. An error or
// another name ends the stream.
//
// To let a caller only read, return domain.Forbidden unless IsSafe(c.Request.Method). RequiredScope says what else the
// operation needs: a caller who may sell, but not change the catalogue, is forbidden what requires apikey.PetsWrite.
type Authenticator func(c *gin.Context) (caller string, err error)

// maxCaller is the maximum length of the name of a caller in characters. PostgreSQL can index a name of this length
// together with an idempotency key.
const maxCaller = 500

// IsSafe reports whether the method is GET or HEAD, which only read. The other safe methods (RFC 9110, section
// 9.2.1) are not authenticated.
func IsSafe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// bearerAuthenticator returns the Authenticator for API keys. The name of the caller is the id of the key.
func bearerAuthenticator(keys Keys) Authenticator {
	return func(c *gin.Context) (string, error) {
		secret, err := bearerToken(c.Request.Header)
		if err != nil {
			return "", err
		}
		key, err := keys.Authenticate(c.Request.Context(), secret)
		if key.ID == 0 { // the key is unknown, or the store failed
			return "", err
		}
		stateOf(c).lineage = key.Lineage
		return strconv.FormatInt(key.ID, 10), cmp.Or(err, key.Scopes.Check(stateOf(c).required))
	}
}

// RequiredScope returns the scope that the operation of a request requires of an API key.
func RequiredScope(c *gin.Context) apikey.Scope { return stateOf(c).required }

// bearerToken returns the key in the header Authorization: Bearer KEY (RFC 6750, section 2.1). The scheme is not
// case-sensitive. The header must not be repeated.
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

// setChallenge sets WWW-Authenticate if err says that the key is missing, invalid, or lacks the scope (RFC 6750,
// section 3).
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

// admit returns a handler that authenticates the caller of a request, checks that its API key has the scope, and
// limits the rate of its requests. A request that results in 403 counts for the rate limit, too. The handler ends a
// request that it rejects.
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
		if caller != "" && !IsSafe(c.Request.Method) {
			c.Request = c.Request.WithContext(domain.WithCaller(c.Request.Context(), a.callerPrefix+caller))
		}
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
