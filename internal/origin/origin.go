// Package origin validates and matches the origins whose web pages may use the API (CORS).
package origin

import (
	"regexp"
	"strings"
)

var (
	serialized  = regexp.MustCompile(`^[a-z][a-z0-9+.-]*://(\[[0-9a-f:.]+\]|(\*\.)?[\w.-]+)(:([0-9]{1,5}|\*))?$`)
	defaultPort = regexp.MustCompile(`^(http:.*:80|https:.*:443)$`) // browsers omit the default port
)

// Valid reports whether text is an origin as a browser sends it (RFC 6454, section 6.2). One * may be the first label of
// the host, or the port. "*" alone is every origin; it is valid only if others is false: there are no other origins.
func Valid(text string, others bool) bool {
	if text == "*" {
		return !others
	}
	return serialized.MatchString(text) && !defaultPort.MatchString(text) && strings.Count(text, "*") <= 1
}

// Matcher returns a function that reports whether an origin matches one of allowed, which must be Valid. A * stands
// for one label or for a port: https://*.example.com matches https://shop.example.com, but neither
// https://example.com nor https://a.b.example.com. An allowed origin "*" must be handled by the caller.
func Matcher(allowed []string) func(origin string) bool {
	patterns := strings.ReplaceAll(regexp.QuoteMeta(strings.Join(allowed, "\n")), `\*`, `[\w-]+`)
	return regexp.MustCompile(`^(?i:` + strings.ReplaceAll(patterns, "\n", "|") + `)$`).MatchString
}
