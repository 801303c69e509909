// Package origin has the rule of the origins whose web pages may use the API (CORS). It is not for embedders.
package origin

import (
	"regexp"
	"strings"
)

var (
	serialized  = regexp.MustCompile(`^[a-z][a-z0-9+.-]*://(\[[0-9a-f:.]+\]|(\*\.)?[\w.-]+)(:([0-9]{1,5}|\*))?$`)
	defaultPort = regexp.MustCompile(`^(http:.*:80|https:.*:443)$`) // which browsers omit
)

// Valid reports whether a text is an origin as a browser sends it (RFC 6454, section 6.2), in which one * may be the
// first label of the host, or the port. Every origin is * alone, which is valid only if there are no others.
func Valid(text string, others bool) bool {
	if text == "*" {
		return !others
	}
	return serialized.MatchString(text) && !defaultPort.MatchString(text) && strings.Count(text, "*") <= 1
}

// Matcher returns a function that reports whether an origin is one of allowed, which are valid. A * stands for one label
// or for a port, and so for no dot: https://*.example.com has https://shop.example.com, but neither https://example.com
// nor https://a.b.example.com.
func Matcher(allowed []string) func(origin string) bool {
	patterns := strings.ReplaceAll(regexp.QuoteMeta(strings.Join(allowed, "\n")), `\*`, `[\w-]+`)
	return regexp.MustCompile(`^(?i:` + strings.ReplaceAll(patterns, "\n", "|") + `)$`).MatchString
}
