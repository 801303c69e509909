package config

import (
	"cmp"
	"crypto/tls"
	"errors"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-playground/validator/v10"

	"example.com/petstore/domain"
)

// rules are the rules of the tag validate. {} in a remedy is the parameter of the rule, or the setting that it names.
var rules = map[string]struct {
	valid  validator.Func // nil for a rule of package validator
	remedy string
}{
	"gt":              {nil, "must be longer than {}"},
	"gtfield":         {nil, "must be longer than {}"},
	"min":             {nil, "must be at least {}"},
	"oneof":           {nil, "must be {}"},
	"required_with":   {nil, "must be set together with {}"},
	"readable":        {matching(isReadable), "must name a file that can be read"},
	"ip|cidr":         {nil, "must be an IP address or a CIDR network, such as 10.0.0.0/8"},
	"hostport":        {matching(isHostPort), "must be host:port with a port from 0 to 65535, such as 127.0.0.1:8080"},
	"nooverlap":       {isDisjoint, "must not overlap with {}"},
	"plainurl":        {matching(isPlainURL), "must be an http or https URL such as http://localhost:4318, without user, query, fragment or a slash at the end"},
	"baseurl":         {nil, "must be an http or https URL such as https://pets.example.com, without user, query, fragment, a slash at the end or /v1, which is added to it"},
	"origin":          {matching(func(s string) bool { return isPlainURL(s) && !notAnOrigin.MatchString(s) }), "must be the origin of a page as a browser sends it, such as https://shop.example.com or http://localhost:3000"},
	"sqlitedsn":       {forDriver("sqlite", isPath), "must be the path of a file, such as petstore.db, without file:, :memory:, parameters or keywords of PostgreSQL, for which set database.driver to postgres"},
	"postgresdsn":     {forDriver("postgres", postgresDSN.MatchString), "must be a connection string, such as postgres://user:password@host:5432/database, with no blank before it, if database.driver is postgres"},
	"excluded_unless": {nil, "must be false unless database.driver is postgres: a SQLite store has no standby"},
	"apikey":          {matching(isAPIKey), "must be an API key as petstore keys create prints it: petstore_ and 49 letters and digits"},
	"seconds":         {func(fl validator.FieldLevel) bool { return fl.Field().Int()%int64(time.Second) == 0 }, "must be whole seconds"},
}

// validate reports the values in force that break a rule, except those that have a problem already.
func (l *loader) validate() {
	v := validator.New()
	v.RegisterTagNameFunc(func(field reflect.StructField) string { return field.Tag.Get("mapstructure") })
	v.RegisterAlias("baseurl", "plainurl,endsnotwith=/v1")
	for tag, rule := range rules {
		_ = v.RegisterValidation(tag, rule.valid) // returns an error, and does nothing, without a function
	}
	violations, _ := errors.AsType[validator.ValidationErrors](v.Struct(l.config))
	rejected := maps.Clone(l.invalid)
	for _, violation := range violations {
		key, _, _ := strings.Cut(strings.TrimPrefix(violation.Namespace(), "Config."), "[")
		if s := byKey[key]; !rejected[s.key+" "+l.source(s)] && l.IsSet(s.key) {
			l.rejectViolation(s, violation)
		}
	}
	l.validateKeyPair(byKey["server.tls_cert_file"], byKey["server.tls_key_file"])
}

// validateKeyPair reads the TLS files, so that the service does not start with a pair that it cannot use.
func (l *loader) validateKeyPair(cert, key *setting) {
	if l.config.Server.TLSCertFile == "" || l.isInvalid(cert) || l.isInvalid(key) {
		return
	}
	if _, err := tls.LoadX509KeyPair(l.config.Server.TLSCertFile, l.config.Server.TLSKeyFile); err != nil {
		l.reject(cert, l.config.Server.TLSCertFile, "must be the certificate of the key in "+key.key+", both in PEM: "+reason(err))
	}
}

// rejectViolation reports a value that breaks a rule, together with the other setting if the rule names one.
func (l *loader) rejectViolation(s *setting, violation validator.FieldError) {
	rule, param := rules[violation.Tag()], strings.ReplaceAll(violation.Param(), " ", " or ")
	remedy := cmp.Or(s.Tag.Get("remedy"), rule.remedy)
	for _, other := range settings {
		if other.key == param || other.Name == param && other.Index[0] == s.Index[0] {
			remedy, param = rule.remedy, l.describe(other, l.Get(other.key))
		}
	}
	value := l.Get(s.key)
	if element, ok := violation.Value().(string); ok {
		value = element
	}
	l.reject(s, value, strings.ReplaceAll(remedy, "{}", param))
}

var (
	hostname    = regexp.MustCompile(`^[A-Za-z0-9._-]*$`)
	everyHost   = regexp.MustCompile(`^[0:.]*$`) // such as 0.0.0.0 and ::
	plainURL    = regexp.MustCompile(`^https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?(/[A-Za-z0-9._~-]+)*$`)
	notAnOrigin = regexp.MustCompile(`//.*/|^http:.*:80$|^https:.*:443$`) // a path, or the default port
)

// matching returns a rule for texts.
func matching(valid func(string) bool) validator.Func {
	return func(fl validator.FieldLevel) bool { return valid(fl.Field().String()) }
}

func isHostPort(text string) bool {
	host, port, err := net.SplitHostPort(text)
	_, portErr := strconv.ParseUint(port, 10, 16)
	_, ipErr := netip.ParseAddr(host)
	return err == nil && portErr == nil && (ipErr == nil || hostname.MatchString(host))
}

// isDisjoint reports whether both listeners can use their addresses. Port 0 is a different port each time.
func isDisjoint(fl validator.FieldLevel) bool {
	config, _ := fl.Top().Interface().(Config)
	hostA, portA, _ := net.SplitHostPort(fl.Field().String())
	hostB, portB, _ := net.SplitHostPort(config.Server.Address)
	return portA != portB || portA == "0" || hostA != hostB && !everyHost.MatchString(hostA) && !everyHost.MatchString(hostB)
}

// isPlainURL reports whether text is an http or https URL of scheme, host, port and path alone.
func isPlainURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && plainURL.MatchString(text) && isHostPort(net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443")))
}

func isReadable(path string) bool {
	_, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	return err == nil
}

func isAPIKey(text string) bool {
	_, ok := domain.HashKey(text)
	return ok
}

// forDriver returns a rule for the DSN of a driver.
func forDriver(driver string, valid func(string) bool) validator.Func {
	return func(fl validator.FieldLevel) bool {
		return fl.Parent().FieldByName("Driver").String() != driver || valid(fl.Field().String())
	}
}

var (
	errDSN = errors.New("must be the connection string of a PostgreSQL database, such as postgres://user@host:5432/database, or the path of a SQLite file, such as petstore.db")

	// dsn matches a URL, user:password@host, and common keywords of libpq.
	dsn         = regexp.MustCompile(`://|:[^/]*@|(?i)(^|\s)(host|hostaddr|port|user|dbname|service|sslmode)\s*=|password\s*=`)
	postgresDSN = regexp.MustCompile(`^(postgres(ql)?://|\s*[a-z_]+\s*=)`)
	notAPath    = regexp.MustCompile(`^\s*$|^:memory:|^file:|[?\x00]`)
)

// DatabaseOf returns the driver of a DSN, which follows from its form, with the DSN. Its error
// does not contain the DSN, which may have a password.
func DatabaseOf(dsn string) (Database, error) {
	switch {
	case isPath(dsn):
		return Database{Driver: "sqlite", DSN: dsn}, nil
	case postgresDSN.MatchString(dsn):
		return Database{Driver: "postgres", DSN: dsn}, nil
	}
	return Database{}, errDSN
}

// isPath reports whether the DSN of a SQLite store is the path of a file.
func isPath(text string) bool { return !notAPath.MatchString(text) && !LooksLikeDSN(text) }

// LooksLikeDSN reports whether text, which should be the path of a file, looks like the connection string of a PostgreSQL
// database instead, which an error must not contain, because it may have a password.
func LooksLikeDSN(text string) bool { return dsn.MatchString(text) }
