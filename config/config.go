// Package config reads the settings of the service from defaults, a YAML file, the environment and the command line,
// each of which overrides those before it, and validates them.
// It is not for embedders.
package config

import "time"

// Config holds every setting of the service, which petstore.example.yaml describes. Each setting is one field with tags:
// key is its name, default its default, validate its rules (see rules.go), and remedy replaces the remedy of the rules.
// secret hides the value, and allows a variable with the suffix _FILE that names a file with the value.
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

// Server is the listener for API clients.
type Server struct {
	Address           string        `key:"address" default:"127.0.0.1:8080" validate:"hostport"`
	ReadHeaderTimeout time.Duration `key:"read_header_timeout" default:"5s" validate:"gt=0s"`
	ReadTimeout       time.Duration `key:"read_timeout" default:"15s" validate:"gt=0s"`
	// WriteTimeout exceeds RequestTimeout, so that the error response to a request that times out can still be sent.
	WriteTimeout   time.Duration `key:"write_timeout" default:"30s" validate:"gt=0s,gtfield=RequestTimeout"`
	IdleTimeout    time.Duration `key:"idle_timeout" default:"120s" validate:"gt=0s"`
	RequestTimeout time.Duration `key:"request_timeout" default:"10s" validate:"gt=0s"`
	ShutdownDelay  time.Duration `key:"shutdown_delay" default:"0s" validate:"min=0s"`
	// ShutdownTimeout: requests get 95 % of it, and net/http takes up to 6.6 seconds to close a connection without one.
	ShutdownTimeout time.Duration `key:"shutdown_timeout" default:"20s" validate:"min=7s"`
	MaxConnections  int           `key:"max_connections" default:"0" validate:"min=0" remedy:"must not be negative; 0 is no limit"`
	TrustedProxies  []string      `key:"trusted_proxies" validate:"dive,ip|cidr"`
	TLSCertFile     string        `key:"tls_cert_file" validate:"required_with=TLSKeyFile"`
	TLSKeyFile      string        `key:"tls_key_file" validate:"required_with=TLSCertFile"`
	ProductionURL   string        `key:"production_url" validate:"omitempty,baseurl"`
	StagingURL      string        `key:"staging_url" validate:"omitempty,baseurl"`
}

// Admin is the listener for metrics, profiles and the log level.
type Admin struct {
	Address string `key:"address" default:"127.0.0.1:9090" validate:"omitempty,hostport,nooverlap=server.address" remedy:"must be empty or host:port with a port from 0 to 65535, such as 127.0.0.1:9090"`
}

// Database is where the data is stored.
type Database struct {
	Driver       string `key:"driver" default:"sqlite" validate:"oneof=sqlite postgres"`
	DSN          string `key:"dsn" default:"petstore.db" secret:"true" validate:"sqlitedsn,postgresdsn"`
	MaxOpenConns int    `key:"max_open_conns" default:"4" validate:"min=1,max=1000" remedy:"must be from 1 to 1000"`
	Migrate      bool   `key:"migrate" default:"true"`
	// RequireSynchronous: no write is acknowledged that only the primary server has.
	RequireSynchronous bool `key:"require_synchronous" default:"false" validate:"postgresonly"`
}

// Auth is the authentication of API clients.
type Auth struct {
	BootstrapKey string `key:"bootstrap_key" secret:"true" validate:"omitempty,apikey"`
}

// Cache is the cache of list pages in memory.
type Cache struct {
	MaxBytes     int           `key:"max_bytes" default:"16777216" validate:"min=0,max=1099511627776" remedy:"must be from 0, which disables the cache, to 1099511627776"`
	MaxStaleness time.Duration `key:"max_staleness" default:"0s" validate:"min=0s,max=5s" remedy:"must be from 0s to 5s"`
}

// RateLimit is the limit of requests per API key.
type RateLimit struct {
	Requests int           `key:"requests" default:"0" validate:"min=0,max=1000000" remedy:"must be from 0, which is no limit, to 1000000"`
	Window   time.Duration `key:"window" default:"1m" validate:"min=1s,max=24h,seconds" remedy:"must be whole seconds, from 1s to 24h"`
}

// CORS is the access from web pages of other origins.
type CORS struct {
	AllowedOrigins []string `key:"allowed_origins" validate:"dive,origin"`
}

// API has the settings that the published contract leaves to the operator.
type API struct {
	GetPetSunset time.Time `key:"get_pet_sunset" default:"2030-12-05T00:00:00Z" validate:"sunset"`
}

// Docs is the API documentation.
type Docs struct {
	Enabled bool `key:"enabled" default:"true"`
}

// Log is the log of the service.
type Log struct {
	Level  string `key:"level" default:"info" validate:"oneof=debug info warn error"`
	Format string `key:"format" default:"json" validate:"oneof=console json"`
}

// Tracing is the export of traces.
type Tracing struct {
	OTLPEndpoint string `key:"otlp_endpoint" validate:"omitempty,plainurl"`
}
