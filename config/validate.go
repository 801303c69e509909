package config

import (
	"cmp"
	"errors"
	"maps"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-playground/validator/v10"

	"example.com/petstore/domain/apikey"
	"example.com/petstore/internal/origin"
)

var duration = reflect.TypeFor[time.Duration]()

// workingFolder is the working directory, for error messages about relative paths.
var workingFolder, _ = os.Getwd()

// typeRemedies say which values are valid, for error messages, by the type of the setting.
var typeRemedies = map[reflect.Type]string{
	reflect.TypeFor[string]():   "must be text; put it in quotes",
	reflect.TypeFor[[]string](): "must be a list of texts",
	reflect.TypeFor[bool]():     "must be true or false",
	reflect.TypeFor[int]():      "must be a whole number in plain digits",
	duration:                    "must be a duration with its unit, such as 500ms, 15s, 2m or 1d",
}

// remedies say which values are valid, for error messages, by the rule in the tag validate. The tag remedy of a setting
// replaces the remedy of the rule. {} stands for the parameter of the rule. If the parameter is another field, {} stands
// for the setting, its value and the source of the value.
var remedies = map[string]string{
	"gt":            "must be longer than {}",
	"gtfield":       "must be longer than {}",
	"min":           "must be at least {}",
	"oneof":         "must be {}",
	"oneofci":       "must be {}",
	"driverof":      "does not fit {}: correct that, or leave the driver out, because it follows from the DSN",
	"required_with": "must be set: HTTPS needs both server.tls_cert_file and server.tls_key_file",
	"file":          "must be the path of a file that exists; a relative path begins at " + workingFolder,
	"ip|cidr":       "must be an IP address or a CIDR network, such as 10.0.0.0/8",
	"address":       "must be host:port with a port from 0 to 65535, such as 127.0.0.1:8080, or unix: and an absolute path of up to 103 bytes",
	"filemode":      "must be the mode of a file in octal digits, such as 0660",
	"plainurl":      "must be an http or https URL such as http://localhost:4318, without user, query, fragment or a slash at the end",
	"baseurl": "must be an http or https URL such as https://pets.example.com, without user, query, fragment, a slash at the end " +
		"or /v1, which is added to it",
	"pageorigin": "must be an origin as a browser sends it, such as https://shop.example.com, http://localhost:3000 or capacitor://localhost, " +
		"one with * as its port or as the first label of its host, such as https://*.example.com, or * alone",
	"dsn":             errDSN.Error(),
	"excluded_unless": "must be false unless database.driver is postgres: a SQLite store has no standby",
	"bootstrapkey":    "must be an API key as petstore keys create prints it: petstore_ and 49 letters and digits",
}

// validate reports the values that violate a rule, except the values that were reported before, such as for a wrong type.
func (l *loader) validate() {
	v := validator.New()
	v.RegisterTagNameFunc(func(field reflect.StructField) string { return field.Tag.Get("mapstructure") })
	v.RegisterAlias("plainurl", "http_url,excludesall=?#@ ,endsnotwith=/")
	v.RegisterAlias("baseurl", "http_url,excludesall=?#@ ,endsnotwith=/,endsnotwith=/v1")
	// RegisterValidation returns an error only for an empty tag.
	for tag, valid := range map[string]func(string) bool{
		"address": isAddress, "filemode": fileMode.MatchString, "dsn": isDSN, "bootstrapkey": isAPIKey,
	} {
		_ = v.RegisterValidation(tag, func(fl validator.FieldLevel) bool { return valid(fl.Field().String()) })
	}
	_ = v.RegisterValidation("driverof", isDriverOf)
	_ = v.RegisterValidation("seconds", isSeconds)
	_ = v.RegisterValidation("pageorigin", isPageOrigin)
	violations, _ := errors.AsType[validator.ValidationErrors](v.Struct(l.config))
	rejected := maps.Clone(l.invalid)
	for _, violation := range violations {
		key, _, _ := strings.Cut(strings.TrimPrefix(violation.Namespace(), "Config."), "[")
		if rejected[key] || !l.IsSet(key) {
			continue
		}
		s, value := byKey[key], l.Get(key)
		if element, ok := violation.Value().(string); ok {
			value = element
		}
		param := strings.ReplaceAll(violation.Param(), " ", " or ")
		for _, other := range settings {
			if other.Name == param {
				param = l.describe(other, l.Get(other.key))
			}
		}
		remedy := cmp.Or(s.Tag.Get("remedy"), remedies[violation.Tag()])
		l.reject(s, value, strings.ReplaceAll(remedy, "{}", param))
	}
}

// isAddress reports whether text is host:port, or unix: and an absolute path. The rule hostname_port of package validator
// rejects port 0 and IPv6 addresses.
func isAddress(text string) bool {
	if network, path := NetworkOf(text); network == "unix" {
		return filepath.IsAbs(path) && len(path) <= maxSocketPath
	}
	_, port, err := net.SplitHostPort(text)
	_, portErr := strconv.ParseUint(port, 10, 16)
	return err == nil && portErr == nil
}

// NetworkOf splits an address into the arguments of net.Listen and net.Dial: "unix" and a path, or "tcp" and host:port.
func NetworkOf(address string) (network, name string) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return "unix", path
	}
	return "tcp", address
}

// maxSocketPath is the maximum length in bytes of the path of a Unix socket on macOS. Linux allows 107.
const maxSocketPath = 103

var fileMode = regexp.MustCompile(`^0?[0-7]{3}$`)

func isDSN(text string) bool {
	_, err := DatabaseOf(text)
	return err == nil
}

// isDriverOf reports whether a driver is the driver that the DSN requires. If the DSN is invalid, it returns true,
// because the rule dsn reports it.
func isDriverOf(fl validator.FieldLevel) bool {
	database, err := DatabaseOf(fl.Parent().FieldByName(fl.Param()).String())
	return err != nil || database.Driver == fl.Field().String()
}

func isAPIKey(text string) bool {
	_, ok := apikey.HashOf(text)
	return ok
}

// isPageOrigin reports whether an element of AllowedOrigins is valid. * is valid only if there is no other element.
func isPageOrigin(fl validator.FieldLevel) bool {
	return origin.Valid(fl.Field().String(), fl.Parent().FieldByName(fl.Param()).Len() > 1)
}

func isSeconds(fl validator.FieldLevel) bool { return fl.Field().Int()%int64(time.Second) == 0 }

var (
	errDSN = errors.New("must be the connection string of a PostgreSQL database, such as postgres://user@host:5432/database, " +
		"or the path of a SQLite file, such as petstore.db")

	// dsn matches a URL, user:password@host, and common keywords of libpq.
	dsn         = regexp.MustCompile(`://|:[^/]*@|(?i)(^|\s)(host|hostaddr|port|user|dbname|service|sslmode)\s*=|password\s*=`)
	postgresDSN = regexp.MustCompile(`^(postgres(ql)?://|\s*[a-z_]+\s*=)`)
	notAPath    = regexp.MustCompile(`^\s*$|^:memory:|^file:|[?\x00]`)
)

// DatabaseOf returns the driver and the DSN for a DSN. The driver follows from the form of the DSN. The error does not
// contain the DSN, which may have a password.
func DatabaseOf(dsn string) (Database, error) {
	switch {
	case !notAPath.MatchString(dsn) && !LooksLikeDSN(dsn):
		return Database{Driver: "sqlite", DSN: dsn}, nil
	case postgresDSN.MatchString(dsn):
		return Database{Driver: "postgres", DSN: dsn}, nil
	}
	return Database{}, errDSN
}

// LooksLikeDSN reports whether text looks like the connection string of a PostgreSQL database. Use it where text
// should be the path of a file: an error must not contain a connection string, because it may have a password.
func LooksLikeDSN(text string) bool { return dsn.MatchString(text) }
