// Package config gathers the settings of the service from its defaults, a YAML file, the environment and the command
// line, each of which wins over those before it, and checks every value before anything is started with it.
package config

import "time"

// Config holds every setting of the service.
//
// One line of these structs is all that a setting takes to exist: its tags give the name in files and, derived from
// it, in the environment (server.address is PETSTORE_SERVER_ADDRESS), and the default as an operator would write it.
// The tag secret keeps a value out of messages and lets it be read from a file that …_FILE names.
type Config struct {
	Server    Server    `key:"server"`
	Admin     Admin     `key:"admin"`
	Database  Database  `key:"database"`
	Auth      Auth      `key:"auth"`
	Cache     Cache     `key:"cache"`
	RateLimit RateLimit `key:"rate_limit"`
	CORS      CORS      `key:"cors"`
	API       API       `key:"api"`
	Docs      Docs      `key:"docs"`
	Log       Log       `key:"log"`
	Tracing   Tracing   `key:"tracing"`
}

// Server is the listener that clients of the API reach.
type Server struct {
	// Address is the host:port to listen on. Without a host it is every interface; port 0 is any free port.
	Address string `key:"address" default:"127.0.0.1:8080"`
	// ReadHeaderTimeout is how long a client may take to send the header of a request.
	ReadHeaderTimeout time.Duration `key:"read_header_timeout" default:"5s"`
	// ReadTimeout is how long a client may take to send a whole request, body included.
	ReadTimeout time.Duration `key:"read_timeout" default:"15s"`
	// WriteTimeout is how long a request may take from the end of its header to the end of its answer. It is longer
	// than RequestTimeout, so that a request which runs out of time can still be told so.
	WriteTimeout time.Duration `key:"write_timeout" default:"30s"`
	// IdleTimeout is how long a connection is kept open for the next request.
	IdleTimeout time.Duration `key:"idle_timeout" default:"120s"`
	// RequestTimeout is the deadline of a request, counted from the end of its header. Its body must arrive before it.
	RequestTimeout time.Duration `key:"request_timeout" default:"10s"`
	// ShutdownDelay is how long a service that is to stop still takes new requests, while it says that it is not ready.
	ShutdownDelay time.Duration `key:"shutdown_delay" default:"0s"`
	// ShutdownTimeout is how long the service may take to stop after ShutdownDelay, running requests included, at least 6s.
	ShutdownTimeout time.Duration `key:"shutdown_timeout" default:"20s"`
	// MaxConnections is how many connections may be open at the same time; 0 is no cap.
	MaxConnections int `key:"max_connections" default:"0"`
	// TrustedProxies lists the IP addresses and CIDR networks whose forwarded headers are believed: X-Forwarded-For, and
	// for the documentation X-Forwarded-Proto and X-Forwarded-Host.
	TrustedProxies []string `key:"trusted_proxies"`
	// TLSCertFile is the PEM file of the certificate, its chain below it. With TLSKeyFile it turns TLS on.
	TLSCertFile string `key:"tls_cert_file"`
	// TLSKeyFile is the PEM file of the certificate's private key.
	TLSKeyFile string `key:"tls_key_file"`
	// ProductionURL is where clients reach the service, without /v1. Empty is the origin that the documentation was
	// requested from.
	ProductionURL string `key:"production_url"`
	// StagingURL is where clients reach the service for trials, without /v1. Empty is nowhere.
	StagingURL string `key:"staging_url"`
}

// Admin is the listener for metrics and profiles, which clients must not reach.
type Admin struct {
	// Address is the host:port to listen on; empty turns the listener off.
	Address string `key:"address" default:"127.0.0.1:9090"`
}

// Database is where the store keeps its records.
type Database struct {
	// Driver names the engine: sqlite.
	Driver string `key:"driver" default:"sqlite"`
	// DSN says where the data is. For sqlite it is the path of a file.
	DSN string `key:"dsn" default:"petstore.db" secret:"true"`
	// MaxOpenConns is the number of connections that read at the same time.
	MaxOpenConns int `key:"max_open_conns" default:"4"`
	// Migrate lets the service create the schema and bring an older one up to date when it starts.
	Migrate bool `key:"migrate" default:"true"`
}

// Auth is who may use the service.
type Auth struct {
	// BootstrapKey is an API key that the service accepts from its first start on; empty for none.
	BootstrapKey string `key:"bootstrap_key" secret:"true"`
}

// Cache is what the service keeps in memory to answer faster.
type Cache struct {
	// MaxBytes is about how much memory the pages of the lists may take; 0 keeps none.
	MaxBytes int `key:"max_bytes" default:"16777216"`
}

// RateLimit is how much one API key may ask for.
type RateLimit struct {
	// Requests is how many requests a key may make in a window; 0 turns the limit off.
	Requests int `key:"requests" default:"0"`
	// Window is the time in which Requests are allowed, in whole seconds.
	Window time.Duration `key:"window" default:"1m"`
}

// CORS is which web pages of other origins may use the service.
type CORS struct {
	// AllowedOrigins lists the origins of those pages, as scheme://host or scheme://host:port.
	AllowedOrigins []string `key:"allowed_origins"`
}

// API is what the published contract leaves to the operator.
type API struct {
	// GetPetSunset is the moment, in UTC, from which GET /pets/{petId} is gone.
	GetPetSunset time.Time `key:"get_pet_sunset" default:"2030-12-05T00:00:00Z"`
}

// Docs is the documentation that the service shows of itself.
type Docs struct {
	// Enabled serves the OpenAPI document and Swagger UI.
	Enabled bool `key:"enabled" default:"true"`
}

// Log is what the service writes about its work.
type Log struct {
	// Level is the least serious level written: debug, info, warn or error.
	Level string `key:"level" default:"info"`
	// Format is json for machines or console for people.
	Format string `key:"format" default:"json"`
}

// Tracing is where the service sends traces of its work.
type Tracing struct {
	// OTLPEndpoint is the URL of an OpenTelemetry collector that takes OTLP over HTTP; empty turns traces off.
	OTLPEndpoint string `key:"otlp_endpoint"`
}
