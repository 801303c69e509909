package config

import (
	"crypto/tls"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	wantAddress = "must be host:port with a port from 0 to 65535, such as 127.0.0.1:8080"
	wantURL     = "must be an http or https URL such as https://pets.example.com, without user, query, fragment, " +
		"a slash at the end or /v1, which is added to it"
	wantFile      = "must be the path of a file, such as petstore.db, without file:, :memory: or parameters"
	wantProxy     = "must be an IP address or a CIDR network, such as 10.0.0.0/8"
	wantOrigin    = "must be the origin of a page as a browser tells it, such as https://shop.example.com or http://localhost:3000"
	wantCollector = "must be an http or https URL such as http://localhost:4318, without user, query, fragment or a slash at the end"
	wantKey       = "must be an API key as petstore keys create prints it: petstore_ and 49 letters and digits"
	wantReadable  = "must name a file that can be read: "
)

// minShutdown is more than the 5 seconds for which net/http takes a new connection that stays silent for busy.
const minShutdown = 6 * time.Second

// deprecated is when GET /pets/{petId} was deprecated; RFC 9745 allows no sunset before it.
var deprecated = time.Date(2025, 12, 5, 0, 0, 0, 0, time.UTC)

// validate holds every value in force against its rule.
func (l *loader) validate(c *Config) {
	l.validateServer(c.Server)
	l.validateTLS(c.Server.TLSCertFile, c.Server.TLSKeyFile)

	l.require("admin.address", c.Admin.Address == "" || isAddress(c.Admin.Address), wantAddress+", or empty for none")
	l.require("admin.address", !collide(c.Admin.Address, c.Server.Address),
		fmt.Sprintf("must not listen where server.address does, %s (%s)", c.Server.Address, l.sources["server.address"]),
		"server.address")

	l.oneOf("database.driver", c.Database.Driver, "sqlite")
	l.require("database.dsn", isFile(c.Database.DSN), wantFile, "database.driver")
	l.require("database.max_open_conns", 1 <= c.Database.MaxOpenConns && c.Database.MaxOpenConns <= 1000,
		"must be from 1 to 1000")

	l.require("auth.bootstrap_key", c.Auth.BootstrapKey == "" || l.isAPIKey(c.Auth.BootstrapKey), wantKey)
	l.require("cache.max_bytes", 0 <= c.Cache.MaxBytes && int64(c.Cache.MaxBytes) <= 1<<40, "must be from 0, which keeps no page, to 1099511627776")
	l.require("rate_limit.requests", 0 <= c.RateLimit.Requests && c.RateLimit.Requests <= 1_000_000,
		"must be from 0, which is no limit, to 1000000")
	window := c.RateLimit.Window
	l.require("rate_limit.window", time.Second <= window && window <= 24*time.Hour && window%time.Second == 0,
		"must be whole seconds, from 1s to 24h")
	l.each("cors.allowed_origins", c.CORS.AllowedOrigins, isOrigin, wantOrigin)

	sunset := c.API.GetPetSunset
	l.require("api.get_pet_sunset", !sunset.Before(deprecated) && sunset.Year() <= 9999,
		"must be from "+deprecated.Format(time.DateOnly)+", when the operation was deprecated, to the year 9999")

	l.oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error")
	l.oneOf("log.format", c.Log.Format, "console", "json")
	l.require("tracing.otlp_endpoint", c.Tracing.OTLPEndpoint == "" || isURL(c.Tracing.OTLPEndpoint), wantCollector)
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
	l.require("server.shutdown_delay", s.ShutdownDelay >= 0, "must not be negative")
	l.require("server.shutdown_timeout", s.ShutdownTimeout >= minShutdown, "must be at least "+minShutdown.String())
	l.require("server.write_timeout", s.WriteTimeout > s.RequestTimeout,
		fmt.Sprintf("must be longer than server.request_timeout, %v (%s)", s.RequestTimeout, l.sources["server.request_timeout"]),
		"server.request_timeout")
	l.require("server.max_connections", s.MaxConnections >= 0, "must not be negative; 0 is no cap")
	l.require("server.production_url", s.ProductionURL == "" || isBaseURL(s.ProductionURL), wantURL)
	l.require("server.staging_url", s.StagingURL == "" || isBaseURL(s.StagingURL), wantURL)
	l.each("server.trusted_proxies", s.TrustedProxies, isProxy, wantProxy)
}

// validateTLS reads the files, so that a pair which cannot serve is told at the start and not to the first client.
func (l *loader) validateTLS(certFile, keyFile string) {
	const cert, key = "server.tls_cert_file", "server.tls_key_file"
	l.require(cert, certFile != "" || keyFile == "", "must be set when "+key+" is")
	l.require(key, keyFile != "" || certFile == "", "must be set when "+cert+" is")
	if certFile == "" || keyFile == "" {
		return
	}
	certPEM, keyPEM := l.readPEM(cert, certFile), l.readPEM(key, keyFile)
	if _, err := tls.X509KeyPair(certPEM, keyPEM); err != nil {
		l.require(cert, false, "must be the certificate of the key in "+key+", both in PEM: "+err.Error(), key)
	}
}

func (l *loader) readPEM(key, path string) []byte {
	text, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		l.require(key, false, wantReadable+reason(err))
	}
	return text
}

func (l *loader) oneOf(key, value string, allowed ...string) {
	l.require(key, slices.Contains(allowed, value), "must be "+strings.Join(allowed, " or "))
}

// each notes a fault for every element of a list that is not of its form.
func (l *loader) each(key string, list []string, form func(string) bool, remedy string) {
	for _, element := range list {
		if !form(element) {
			l.fault(key, show(element), l.sources[key], remedy)
		}
	}
}
