package swagger

import (
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
)

const (
	forwardedProto = "X-Forwarded-Proto"
	forwardedHost  = "X-Forwarded-Host"
)

// proxies are the networks from which forwarded headers are used.
type proxies []netip.Prefix

func parseProxies(texts []string) (proxies, error) {
	var networks proxies
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if address, notAddress := netip.ParseAddr(text); notAddress == nil {
			network, err = address.Prefix(address.BitLen())
		}
		if err != nil {
			return nil, err
		}
		networks = append(networks, network)
	}
	return networks, nil
}

func (p proxies) trust(client string) bool {
	address, err := netip.ParseAddr(client)
	return err == nil && slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(address.Unmap()) })
}

var (
	validScheme = regexp.MustCompile(`^https?$`)
	validHost   = regexp.MustCompile(`^([A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`)
)

// maxHost is the longest host name (RFC 1035, section 2.3.4) with a port.
const maxHost = 255 + len(":65535")

// baseURL returns the URL of the request without the slash and the name at its end, such
// as https://pets.example/shop, or "" when Host is missing or malformed. A prefix that a
// proxy removes is not in it.
func (p proxies) baseURL(c *gin.Context) string {
	scheme, host := "http", c.Request.Host
	if c.Request.TLS != nil {
		scheme = "https"
	}
	if p.trust(c.RemoteIP()) {
		scheme = forwarded(c, forwardedProto, validScheme, scheme)
		host = forwarded(c, forwardedHost, validHost, host)
	}
	if len(host) > maxHost || !validHost.MatchString(host) {
		return ""
	}
	return scheme + "://" + host + strings.TrimSuffix(path.Dir(c.Request.URL.EscapedPath()), "/")
}

// forwarded returns the value of a header that is sent once and valid, otherwise
// fallback: of several values any may be the client's own.
func forwarded(c *gin.Context, name string, valid *regexp.Regexp, fallback string) string {
	if values := c.Request.Header[name]; len(values) == 1 && valid.MatchString(values[0]) {
		return values[0]
	}
	return fallback
}
