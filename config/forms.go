package config

import (
	"cmp"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

var hostname = regexp.MustCompile(`^[A-Za-z0-9._-]*$`)

func isAddress(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return false
	}
	_, err = netip.ParseAddr(host)
	return err == nil || hostname.MatchString(host)
}

// collide reports whether two listeners would want the same port of the same host. Port 0 is another one each time.
func collide(a, b string) bool {
	hostA, portA, _ := net.SplitHostPort(a)
	hostB, portB, _ := net.SplitHostPort(b)
	if portA != portB || portA == "0" {
		return false
	}
	return hostA == hostB || isEveryHost(hostA) || isEveryHost(hostB)
}

func isEveryHost(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "" || err == nil && address.IsUnspecified()
}

var plainURL = regexp.MustCompile(`^https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?(/[A-Za-z0-9._~-]+)*$`)

// isURL reports whether text is an http or https URL of scheme, host, port and path alone.
func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && plainURL.MatchString(text) && isAddress(net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443")))
}

func isBaseURL(text string) bool { return isURL(text) && !strings.HasSuffix(text, "/v1") }

// isOrigin reports whether a browser may call a page's origin by this text. It leaves out the scheme's own port.
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && isURL(text) && u.Path == "" && u.Scheme+u.Port() != "http80" && u.Scheme+u.Port() != "https443"
}

func isProxy(text string) bool {
	if _, err := netip.ParsePrefix(text); err == nil {
		return true
	}
	address, err := netip.ParseAddr(text)
	return err == nil && address.Zone() == ""
}

func isFile(dsn string) bool {
	return strings.TrimSpace(dsn) != "" && !strings.HasPrefix(dsn, ":memory:") && !strings.HasPrefix(dsn, "file:") &&
		!strings.Contains(dsn, "://") && !strings.ContainsAny(dsn, "?\x00")
}

var apiKey = regexp.MustCompile(`^petstore_[0-9A-Za-z]{49}$`)
