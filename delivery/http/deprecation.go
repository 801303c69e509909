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

var (
	deprecation = []string{fmt.Sprintf("@%d", domain.GetPetDeprecation.Unix())}
	sunset      = []string{domain.GetPetSunset.Format(http.TimeFormat)}
	successor   = []string{`<../pets>; rel="successor-version"`}
)

// setDeprecationHeaders sets the headers of every response of getPet's route: Deprecation
// (RFC 9745), Sunset (RFC 8594) and Link to the successor.
func setDeprecationHeaders(c *gin.Context) {
	header := c.Writer.Header()
	header["Deprecation"], header["Sunset"], header["Link"] = deprecation, sunset, successor
}

// MarkDeprecated sets the headers of getPet's route if the path of a request is that of getPet.
// The routes of the API set them themselves, but Gin handles a method that a path does not have
// with the NoMethod handlers of the engine, which need this handler first:
//
//	engine.NoMethod(api.MarkDeprecated, rest.MethodNotAllowed)
func (a *API) MarkDeprecated(c *gin.Context) {
	template, u := path.Join(a.basePath, getPetPath), c.Request.URL
	if matchesTemplate(template, u.Path) || matchesTemplate(template, u.EscapedPath()) {
		setDeprecationHeaders(c)
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
	if a.now().Before(domain.GetPetSunset) {
		return
	}
	a.Fail(c, &domain.Error{
		Kind: errGone, Code: codeOperationRemoved,
		Message: "this operation was removed on " + domain.GetPetSunset.Format(time.DateOnly) + ": list the pets with a status instead",
	})
}
