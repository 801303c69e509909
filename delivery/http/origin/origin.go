// Package origin has the rule of the origins whose web pages may use the API (CORS). It is not for embedders.
package origin

import (
	"regexp"
	"strings"
)

var (
	serialized  = regexp.MustCompile(`^[a-z][a-z0-9+.-]*://(\[[0-9a-f:.]+\]|[\w.*-]+)(:[0-9*]{1,5})?$`)
	defaultPort = regexp.MustCompile(`^(http:.*:80|https:.*:443)$`) // which browsers omit
)

// Valid reports whether a text is an origin as a browser sends it (RFC 6454, section 6.2), in which one * may stand for
// any text, or * alone for every origin.
func Valid(text string) bool {
	return text == "*" || serialized.MatchString(text) && !defaultPort.MatchString(text) && strings.Count(text, "*") <= 1
}
