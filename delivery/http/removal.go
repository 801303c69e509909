package http

import (
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"example.com/petstore/domain"
)

// deprecatedSince is when getPet became deprecated: five years before its removal
// as published, wherever the setting moves that.
var deprecatedSince = publishedSunset.AddDate(-5, 0, 0)

// announceRemoval puts the dates of getPet's end on every answer of its route
// (RFC 9745, RFC 8594) and points to what takes its place.
func (a *API) announceRemoval() gin.HandlerFunc {
	deprecation := []string{fmt.Sprintf("@%d", deprecatedSince.Unix())}
	sunset := []string{a.sunset.Format(http.TimeFormat)}
	successor := []string{`<../pets>; rel="successor-version"`}
	return func(c *gin.Context) {
		header := c.Writer.Header()
		header["Deprecation"], header["Sunset"], header["Link"] = deprecation, sunset, successor
	}
}

// refuseRemoved ends the requests that come after the sunset.
func (a *API) refuseRemoved(c *gin.Context) {
	if a.now().Before(a.sunset) {
		return
	}
	a.fail(c, &domain.Error{
		Kind: errGone, Code: codeOperationRemoved,
		Message: "this operation was removed on " + a.sunset.Format(time.DateOnly) + ": list the pets with a status instead",
	})
}
