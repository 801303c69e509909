package swagger

import (
	"net"
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

// proxies are the networks whose X-Forwarded headers are trusted.
type proxies []*net.IPNet

// parseProxies parses IP addresses and CIDR networks.
func parseProxies(texts []string) (proxies, error) {
	var networks proxies
	for _, text := range texts {
		_, network, err := net.ParseCIDR(text) // as Gin's SetTrustedProxies
		if address := net.ParseIP(text); address != nil {
			network, err = &net.IPNet{IP: address, Mask: net.CIDRMask(8*len(address), 8*len(address))}, nil
		}
		if err != nil {
			return nil, err
		}
		networks = append(networks, network)
	}
	return networks, nil
}

// trusts reports whether a client's IP address is that of a proxy.
func (p proxies) trusts(client string) bool {
	address := net.ParseIP(client)
	return slices.ContainsFunc(p, func(network *net.IPNet) bool { return network.Contains(address) })
}

var (
	validScheme = regexp.MustCompile(`^https?$`)
	validHost   = regexp.MustCompile(`^([A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`)
)

// maxHost is the maximum length of a host name (RFC 1035, section 2.3.4) with a port.
const maxHost = 255 + len(":65535")

// baseURL returns the URL of the parent folder of the request, such as
// https://pets.example/shop, or "" if Host is missing or malformed. It does not have a
// prefix that a proxy removes.
func (p proxies) baseURL(c *gin.Context) string {
	scheme, host := "http", c.Request.Host
	if c.Request.TLS != nil {
		scheme = "https"
	}
	if p.trusts(c.RemoteIP()) {
		scheme = forwarded(c, forwardedProto, validScheme, scheme)
		host = forwarded(c, forwardedHost, validHost, host)
	}
	if len(host) > maxHost || !validHost.MatchString(host) {
		return ""
	}
	return scheme + "://" + host + strings.TrimSuffix(path.Dir(c.Request.URL.EscapedPath()), "/")
}

// forwarded returns the value of a header if it occurs once and is valid, else fallback. Of
// several values one may be from the client.
func forwarded(c *gin.Context, name string, valid *regexp.Regexp, fallback string) string {
	if values := c.Request.Header[name]; len(values) == 1 && valid.MatchString(values[0]) {
		return values[0]
	}
	return fallback
}
