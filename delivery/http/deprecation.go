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

// getPetPath is the path of the operation that is deprecated.
const getPetPath = "/pets/:petId"

// deprecatedSince is when getPet became deprecated: five years before its removal
// as published, wherever the setting moves that.
var deprecatedSince = publishedSunset.AddDate(-5, 0, 0)

// setDeprecationHeaders puts the dates of getPet's end on every answer of its route
// (RFC 9745, RFC 8594) and points to what takes its place.
func (a *API) setDeprecationHeaders() gin.HandlerFunc {
	deprecation := []string{fmt.Sprintf("@%d", deprecatedSince.Unix())}
	sunset := []string{a.sunset.Format(http.TimeFormat)}
	successor := []string{`<../pets>; rel="successor-version"`}
	return func(c *gin.Context) {
		header := c.Writer.Header()
		header["Deprecation"], header["Sunset"], header["Link"] = deprecation, sunset, successor
	}
}

// DeprecationHeaders returns a handler that sets Deprecation, Sunset and Link when the
// path of a request is that of getPet under r, where the API is mounted. The API's own
// routes set them, but Gin answers a method that a path does not have with the NoMethod of
// the engine, outside of every group. MethodNotAllowed alone knows neither the prefix nor
// the dates, so its 405 lacks the headers unless this handler comes first:
//
//	engine.NoMethod(api.DeprecationHeaders(group), rest.MethodNotAllowed)
func (a *API) DeprecationHeaders(r gin.IRouter) gin.HandlerFunc {
	template, announce := path.Join(r.Group("").BasePath(), getPetPath), a.setDeprecationHeaders()
	return func(c *gin.Context) {
		if u := c.Request.URL; matchesTemplate(template, u.Path) || matchesTemplate(template, u.EscapedPath()) {
			announce(c)
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

// rejectAfterSunset ends the requests that come after the sunset.
func (a *API) rejectAfterSunset(c *gin.Context) {
	if a.now().Before(a.sunset) {
		return
	}
	a.Fail(c, &domain.Error{
		Kind: errGone, Code: codeOperationRemoved,
		Message: "this operation was removed on " + a.sunset.Format(time.DateOnly) + ": list the pets with a status instead",
	})
}
