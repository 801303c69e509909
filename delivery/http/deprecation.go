package http

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"example.com/petstore/domain"
)

// getPetPath is the path of getPet, the deprecated operation.
const getPetPath = "/pets/:petId"

// WithGetPetSunset changes the time at which getPet is removed, from domain.GetPetSunset. New
// returns an error for a time before domain.GetPetDeprecation.
func WithGetPetSunset(sunset time.Time) Option {
	return func(a *API) { a.sunset = sunset.UTC() }
}

// setDeprecationHeaders returns a handler that sets the headers of every response of
// getPet's route: Deprecation (RFC 9745), Sunset (RFC 8594) and Link to the successor.
func (a *API) setDeprecationHeaders() gin.HandlerFunc {
	deprecation := []string{fmt.Sprintf("@%d", domain.GetPetDeprecation.Unix())}
	sunset := []string{a.sunset.Format(http.TimeFormat)}
	successor := []string{`<../pets>; rel="successor-version"`}
	return func(c *gin.Context) {
		header := c.Writer.Header()
		header["Deprecation"], header["Sunset"], header["Link"] = deprecation, sunset, successor
	}
}

// DeprecationHeaders returns a handler that sets Deprecation, Sunset and Link if the path
// of a request is that of getPet. r is the router on which the API is mounted. The routes
// of the API set these headers themselves, but Gin handles a method that a path does not
// have with the NoMethod handlers of the engine, which need this handler first:
//
//	engine.NoMethod(api.DeprecationHeaders(group), rest.MethodNotAllowed)
func (a *API) DeprecationHeaders(r gin.IRouter) gin.HandlerFunc {
	template, setHeaders := path.Join(r.Group("").BasePath(), getPetPath), a.setDeprecationHeaders()
	return func(c *gin.Context) {
		if u := c.Request.URL; matchesTemplate(template, u.Path) || matchesTemplate(template, u.EscapedPath()) {
			setHeaders(c)
		}
	}
}

// matchesTemplate reports whether a path matches the template of a route in Gin's syntax.
func matchesTemplate(template, path string) bool {
	return slices.EqualFunc(strings.Split(template, "/"), strings.Split(path, "/"), func(want, got string) bool {
		literal, _, parameter := strings.Cut(want, ":")
		if parameter {
			return strings.HasPrefix(got, literal) && len(got) > len(literal)
		}
		return got == literal
	})
}

// rejectAfterSunset ends a request with an errGone from the sunset on.
func (a *API) rejectAfterSunset(c *gin.Context) {
	if a.now().Before(a.sunset) {
		return
	}
	a.Fail(c, &domain.Error{
		Kind: errGone, Code: codeOperationRemoved,
		Message: "this operation was removed on " + a.sunset.Format(time.DateOnly) + ": list the pets with a status instead",
	})
}
