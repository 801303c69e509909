// Package config reads and validates the settings of the service. The sources are the defaults, a file in YAML, TOML or
// JSON, the environment and the command line; a later source overrides an earlier one.
package config

import (
	"reflect"
	"slices"
	"strings"
	"time"
)

// Config holds every setting of the service. petstore.example.yaml describes the settings. Each setting is a field, whose
// tags are:
//
//	mapstructure  the name of the setting
//	default       the default, as text
//	validate      the rules, see validate.go
//	remedy        which values are valid, for error messages, instead of the remedies of the rules
//	secret        hides the value, and allows a variable with the suffix _FILE that names a file with the value
type Config struct {
	Server   Server   `mapstructure:"server"`
	Admin    Admin    `mapstructure:"admin"`
	Database Database `mapstructure:"database"`
	Auth     struct {
		BootstrapKey string `mapstructure:"bootstrap_key" secret:"true" validate:"omitempty,bootstrapkey"`
	} `mapstructure:"auth"`
	Cache struct { // the cache of pages (lists and single records) in memory
		MaxBytes int `mapstructure:"max_bytes" default:"16777216" validate:"min=0,max=1099511627776" remedy:"must be from 0 to 1099511627776"`
		// StaleIfUnavailable is how long pages and API keys in memory are used while the database is not available.
		StaleIfUnavailable time.Duration `mapstructure:"stale_if_unavailable" default:"0s" validate:"min=0s,max=24h" remedy:"must be from 0s to 24h"`
	} `mapstructure:"cache"`
	Changes struct { // the feed of changes
		Retention     time.Duration `mapstructure:"retention" default:"168h" validate:"min=1h"`
		StreamsPerKey int           `mapstructure:"streams_per_key" default:"10" validate:"min=1,max=1000" remedy:"must be from 1 to 1000"`
	} `mapstructure:"changes"`
	RateLimit struct { // the limit of requests per API key
		Requests int           `mapstructure:"requests" default:"0" validate:"min=0,max=1000000" remedy:"must be from 0 (no limit) to 1000000"`
		Window   time.Duration `mapstructure:"window" default:"1m" validate:"min=1s,max=24h,seconds" remedy:"must be whole seconds, from 1s to 24h"`
	} `mapstructure:"rate_limit"`
	CORS struct {
		AllowedOrigins []string `mapstructure:"allowed_origins" validate:"dive,pageorigin=AllowedOrigins"`
	} `mapstructure:"cors"`
	Docs struct {
		Enabled bool `mapstructure:"enabled" default:"true"`
	} `mapstructure:"docs"`
	Log     Log `mapstructure:"log"`
	Tracing struct {
		OTLPEndpoint string `mapstructure:"otlp_endpoint" validate:"omitempty,plainurl"`
	} `mapstructure:"tracing"`
}

// Server has the settings of the listener for API clients.
type Server struct {
	Address           string        `mapstructure:"address" default:"127.0.0.1:8080" validate:"address"`
	SocketMode        string        `mapstructure:"socket_mode" default:"0660" validate:"filemode"`
	ReadHeaderTimeout time.Duration `mapstructure:"read_header_timeout" default:"5s" validate:"gt=0s"`
	ReadTimeout       time.Duration `mapstructure:"read_timeout" default:"15s" validate:"gt=0s"`
	// WriteTimeout must exceed RequestTimeout, so that the error response can be sent after a request has timed out.
	WriteTimeout   time.Duration `mapstructure:"write_timeout" default:"30s" validate:"gt=0s,gtfield=RequestTimeout"`
	IdleTimeout    time.Duration `mapstructure:"idle_timeout" default:"120s" validate:"gt=0s"`
	RequestTimeout time.Duration `mapstructure:"request_timeout" default:"10s" validate:"gt=0s"`
	ShutdownDelay  time.Duration `mapstructure:"shutdown_delay" default:"0s" validate:"min=0s"`
	// ShutdownTimeout is at least 7s: requests get 95 % of it, and net/http may need 6.6 s to close a connection that has
	// no request.
	ShutdownTimeout time.Duration `mapstructure:"shutdown_timeout" default:"20s" validate:"min=7s"`
	MaxConnections  int           `mapstructure:"max_connections" default:"0" validate:"min=0" remedy:"must not be negative; 0 is no limit"`
	TrustedProxies  []string      `mapstructure:"trusted_proxies" validate:"dive,ip|cidr"`
	TLSCertFile     string        `mapstructure:"tls_cert_file" validate:"required_with=TLSKeyFile,omitempty,file"`
	TLSKeyFile      string        `mapstructure:"tls_key_file" validate:"required_with=TLSCertFile,omitempty,file"`
	ProductionURL   string        `mapstructure:"production_url" validate:"omitempty,baseurl"`
	StagingURL      string        `mapstructure:"staging_url" validate:"omitempty,baseurl"`
}

// Admin has the settings of the listener for metrics, profiles and the log level.
type Admin struct {
	Address string `mapstructure:"address" default:"127.0.0.1:8081" validate:"omitempty,address" remedy:"must be empty or like server.address"`
}

// Database has the settings of the database.
type Database struct {
	// Driver, if it is not set, follows from the form of DSN.
	Driver       string `mapstructure:"driver" default:"sqlite" validate:"oneof=sqlite postgres,driverof=DSN"`
	DSN          string `mapstructure:"dsn" default:"petstore.db" secret:"true" validate:"dsn"`
	MaxOpenConns int    `mapstructure:"max_open_conns" default:"4" validate:"min=1,max=1000" remedy:"must be from 1 to 1000"`
	Migrate      bool   `mapstructure:"migrate" default:"true"`
	// RequireSynchronous refuses writes while the primary server acknowledges commits that no standby has.
	RequireSynchronous bool `mapstructure:"require_synchronous" default:"false" validate:"excluded_unless=Driver postgres"`
}

// Log has the settings of the log.
type Log struct {
	Level  string `mapstructure:"level" default:"info" validate:"oneofci=debug info warn error"`
	Format string `mapstructure:"format" default:"json" validate:"oneofci=console json"`
}

// A setting is a field of a section of Config.
type setting struct {
	reflect.StructField
	key      string // section.name
	variable string // PETSTORE_SECTION_NAME
}

func (s *setting) isSecret() bool { return s.Tag.Get("secret") == "true" }

// The settings in the order of their declaration, and the names of all environment variables.
var (
	settings  []*setting
	keys      []string
	byKey     = map[string]*setting{}
	variables = []string{envConfig}
)

func init() {
	for section := range reflect.TypeFor[Config]().Fields() {
		for field := range section.Type.Fields() {
			name, key := section.Tag.Get("mapstructure"), field.Tag.Get("mapstructure")
			s := &setting{field, name + "." + key, strings.ToUpper(envPrefix + "_" + name + "_" + key)}
			settings, keys, variables, byKey[s.key] = append(settings, s), append(keys, s.key), append(variables, s.variable), s
			if s.isSecret() {
				variables = append(variables, s.variable+"_FILE")
			}
		}
	}
}

// Keys returns the keys of all settings, such as server.address, in the order of their declaration.
func Keys() []string { return slices.Clone(keys) }
