package config

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	wantAddress = "must be host:port with a port from 0 to 65535, such as 127.0.0.1:8080"
	wantURL     = "must be an http or https URL such as https://pets.example.com, without user, query, fragment, " +
		"a slash at the end or /v1, which is added to it"
	wantFile = "must be the path of a file, such as petstore.db, without file:, :memory: or parameters"
)

// minShutdown is more than the 5 seconds for which net/http takes a new connection that stays silent for busy.
const minShutdown = 6 * time.Second

// deprecated is when GET /pets/{petId} was deprecated; RFC 9745 allows no sunset before it.
var deprecated = time.Date(2025, 12, 5, 0, 0, 0, 0, time.UTC)

// validate holds every value in force against its rule.
func (l *loader) validate(c *Config) {
	l.validateServer(c.Server)

	l.require("admin.address", c.Admin.Address == "" || isAddress(c.Admin.Address), wantAddress+", or empty for none")
	l.require("admin.address", !collide(c.Admin.Address, c.Server.Address),
		fmt.Sprintf("must not listen where server.address does, %s (%s)", c.Server.Address, l.sources["server.address"]),
		"server.address")

	l.oneOf("database.driver", c.Database.Driver, "sqlite")
	l.require("database.dsn", isFile(c.Database.DSN), wantFile, "database.driver")
	l.require("database.max_open_conns", 1 <= c.Database.MaxOpenConns && c.Database.MaxOpenConns <= 1000,
		"must be from 1 to 1000")

	sunset := c.API.GetPetSunset
	l.require("api.get_pet_sunset", !sunset.Before(deprecated) && sunset.Year() <= 9999,
		"must be from "+deprecated.Format(time.DateOnly)+", when the operation was deprecated, to the year 9999")

	l.oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error")
	l.oneOf("log.format", c.Log.Format, "console", "json")
}

func (l *loader) validateServer(s Server) {
	l.require("server.address", isAddress(s.Address), wantAddress)
	for key, timeout := range map[string]time.Duration{
		"server.read_header_timeout": s.ReadHeaderTimeout,
		"server.read_timeout":        s.ReadTimeout,
		"server.write_timeout":       s.WriteTimeout,
		"server.idle_timeout":        s.IdleTimeout,
		"server.request_timeout":     s.RequestTimeout,
	} {
		l.require(key, timeout > 0, "must be longer than 0s")
	}
	l.require("server.shutdown_timeout", s.ShutdownTimeout >= minShutdown, "must be at least "+minShutdown.String())
	l.require("server.write_timeout", s.WriteTimeout > s.RequestTimeout,
		fmt.Sprintf("must be longer than server.request_timeout, %v (%s)", s.RequestTimeout, l.sources["server.request_timeout"]),
		"server.request_timeout")
	l.require("server.production_url", s.ProductionURL == "" || isBaseURL(s.ProductionURL), wantURL)
	l.require("server.staging_url", s.StagingURL == "" || isBaseURL(s.StagingURL), wantURL)
	for _, proxy := range s.TrustedProxies {
		if !isProxy(proxy) {
			l.fault("server.trusted_proxies", show(proxy), l.sources["server.trusted_proxies"],
				"must be an IP address or a CIDR network, such as 10.0.0.0/8")
		}
	}
}

func (l *loader) oneOf(key, value string, allowed ...string) {
	l.require(key, slices.Contains(allowed, value), "must be "+strings.Join(allowed, " or "))
}

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

var baseURL = regexp.MustCompile(`^https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?(/[A-Za-z0-9._~-]+)*$`)

func isBaseURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && baseURL.MatchString(text) && !strings.HasSuffix(text, "/v1") &&
		isAddress(net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443")))
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
