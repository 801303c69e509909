package config

import (
	"cmp"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-playground/validator/v10"

	"example.com/petstore/domain"
	"example.com/petstore/domain/apikey"
)

// rules are the rules of the tag validate. {} in a remedy is the parameter of the rule, or the setting that it names.
var rules = map[string]struct {
	valid  validator.Func // nil for a rule of package validator
	remedy string
}{
	"gt":            {nil, "must be longer than {}"},
	"gtfield":       {nil, "must be longer than {}"},
	"min":           {nil, "must be at least {}"},
	"oneof":         {nil, "must be {}"},
	"required_with": {nil, "must be set together with {}"},
	"ip|cidr":       {nil, "must be an IP address or a CIDR network, such as 10.0.0.0/8"},
	"hostport":      {matching(isHostPort), "must be host:port with a port from 0 to 65535, such as 127.0.0.1:8080"},
	"nooverlap":     {isDisjoint, "must not overlap with {}"},
	"plainurl":      {matching(isPlainURL), "must be an http or https URL such as http://localhost:4318, without user, query, fragment or a slash at the end"},
	"baseurl":       {nil, "must be an http or https URL such as https://pets.example.com, without user, query, fragment, a slash at the end or /v1, which is added to it"},
	"origin":        {matching(func(s string) bool { return isPlainURL(s) && !notAnOrigin.MatchString(s) }), "must be the origin of a page as a browser sends it, such as https://shop.example.com or http://localhost:3000"},
	"sqlitedsn":     {forDriver("sqlite", isPath), "must be the path of a file, such as petstore.db, without file:, :memory:, parameters or keywords of PostgreSQL, for which set database.driver to postgres"},
	"postgresdsn":   {forDriver("postgres", postgresDSN.MatchString), "must be a connection string, such as postgres://user:password@host:5432/database, with no blank before it, if database.driver is postgres"},
	"postgresonly":  {isForPostgres, "must be false unless database.driver is postgres: a SQLite store has no standby"},
	"apikey":        {matching(isAPIKey), "must be an API key as petstore keys create prints it: petstore_ and 49 letters and digits"},
	"sunset":        {isSunset, "must be from " + domain.GetPetDeprecation.Format(time.DateOnly) + ", when the operation was deprecated, to the year 9999"},
	"seconds":       {func(fl validator.FieldLevel) bool { return fl.Field().Int()%int64(time.Second) == 0 }, "must be whole seconds"},
}

// validate reports the values in force that break a rule, except those that have a problem already.
func (l *loader) validate() {
	v := validator.New()
	v.RegisterTagNameFunc(func(field reflect.StructField) string { return field.Tag.Get("key") })
	v.RegisterAlias("baseurl", "plainurl,endsnotwith=/v1")
	for tag, rule := range rules {
		_ = v.RegisterValidation(tag, rule.valid) // returns an error, and does nothing, without a function
	}
	violations, _ := errors.AsType[validator.ValidationErrors](v.Struct(l.config))
	invalid := slices.DeleteFunc(slices.Clone(settings), func(s *setting) bool { return !l.invalid(s) })
	for _, violation := range violations {
		key, _, _ := strings.Cut(strings.TrimPrefix(violation.Namespace(), "Config."), "[")
		if s := byKey[key]; !slices.Contains(invalid, s) {
			l.rejectViolation(s, violation)
		}
	}
	l.validateKeyPair(byKey["server.tls_cert_file"], byKey["server.tls_key_file"])
}

// validateKeyPair reads the TLS files, so that the service does not start with a pair that it cannot use.
func (l *loader) validateKeyPair(cert, key *setting) {
	certFile, keyFile := l.config.Server.TLSCertFile, l.config.Server.TLSKeyFile
	for s, path := range map[*setting]string{cert: certFile, key: keyFile} {
		if _, err := os.ReadFile(path); err != nil && path != "" && !l.invalid(s) { //nolint:gosec // the operator names the file
			l.reject(s, path, "must name a file that can be read: "+reason(err))
		}
	}
	if _, err := tls.LoadX509KeyPair(certFile, keyFile); err != nil && certFile != "" && !l.invalid(cert) && !l.invalid(key) {
		l.reject(cert, certFile, "must be the certificate of the key in "+key.key+", both in PEM: "+reason(err))
	}
}

// rejectViolation reports a value that breaks a rule, together with the other setting if the rule names one.
func (l *loader) rejectViolation(s *setting, violation validator.FieldError) {
	rule, param, text := rules[violation.Tag()], strings.ReplaceAll(violation.Param(), " ", " or "), l.value(s).Text
	remedy := cmp.Or(s.Tag.Get("remedy"), rule.remedy)
	for _, other := range settings {
		if other.key == param || other.Name == param && other.Index[0] == s.Index[0] {
			v := l.value(other)
			remedy, param = rule.remedy, Value{v.Key, other.quote(v.Text), v.Source}.where()
		}
	}
	if element, ok := violation.Value().(string); ok {
		text = element
	}
	l.reject(s, text, strings.ReplaceAll(remedy, "{}", param))
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

func isAPIKey(text string) bool {
	_, ok := apikey.HashOf(text)
	return ok
}

// forDriver returns a rule for the DSN of a driver.
func forDriver(driver string, valid func(string) bool) validator.Func {
	return func(fl validator.FieldLevel) bool {
		return fl.Parent().FieldByName("Driver").String() != driver || valid(fl.Field().String())
	}
}

// isForPostgres reports whether a setting that SQLite does not have is false, or the driver is postgres.
func isForPostgres(fl validator.FieldLevel) bool {
	return !fl.Field().Bool() || fl.Parent().FieldByName("Driver").String() == "postgres"
}

// isSunset reports whether a time is not before the deprecation of GET /pets/{petId} (RFC 9745) and can be an HTTP date.
func isSunset(fl validator.FieldLevel) bool {
	sunset, _ := fl.Field().Interface().(time.Time)
	return !sunset.Before(domain.GetPetDeprecation) && sunset.UTC().Year() <= 9999
}
