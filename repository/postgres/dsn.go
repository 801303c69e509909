package postgres

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

var (
	errInvalidDSN = errors.New("the DSN is not a valid connection string, or its servicefile does not have its service: write it as " +
		"postgres://user:password@host:5432/database?sslmode=verify-full, with special characters as %XX, and among keywords an empty value as ''")
	errTLSFiles = errors.New("the files for TLS in the DSN cannot be used: sslrootcert must name certificates, sslcert and sslkey " +
		"a certificate and its key, all in PEM format, and an encrypted key needs its sslpassword")
)

// laterURL matches the URL of a database that is not at the start.
var laterURL = regexp.MustCompile(`(?s).postgres(ql)?://`)

// parseDSN returns the configuration of connections. Its error has no part of the DSN, which
// may contain a password, but the path of a file that cannot be read.
func parseDSN(dsn string) (*pgx.ConnConfig, error) {
	config, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, connectTimeout)
	config.ValidateConnect = checkConnection
	// Not as a default: settings of the user or of the database must not make the server convert texts.
	config.RuntimeParams["client_encoding"] = "UTF8"
	setDefaults(config.RuntimeParams, map[string]string{"application_name": "petstore"})
	return config, nil
}

// parse parses a DSN. It rejects a URL whose password contains a character that is not
// escaped: after an @ the rest would be taken for a host, after a / or ? for a database. It
// also rejects one that is not the whole DSN, as after a blank, or that has another scheme: pgx
// would take it for a keyword or a value, and send it to another server. Last, it rejects keywords
// of which one has no value, as in user= password=secret: the value would be password=secret.
func parse(dsn string) (*pgx.ConnConfig, error) {
	if scheme, rest, _ := strings.Cut(dsn, "://"); isScheme(scheme) {
		authority, _, _ := strings.Cut(strings.ReplaceAll(rest, "?", "/"), "/")
		if strings.Contains(rest, "@") && !strings.Contains(authority, "@") {
			return nil, errInvalidDSN
		}
	}
	if laterURL.MatchString(dsn) {
		return nil, errInvalidDSN
	}
	config, err := pgx.ParseConfig(dsn)
	if err == nil && !strings.Contains(nameOfHosts(config), "@") && !strings.Contains(config.User+nameOfConfig(config), "=") &&
		!hasURLAsKeyword(config) {
		return config, nil
	}
	failure, unreadable := errors.AsType[*fs.PathError](err)
	if unreadable && !strings.ContainsAny(failure.Path, "=&?@") { // which may be the rest of a mistyped DSN
		// Without failure itself, which isConnectionError would take for an error of the network.
		return nil, fmt.Errorf("cannot read %s, which the DSN names: %s: correct the path, or let the user of petstore read it",
			failure.Path, failure.Err.Error())
	}
	if err != nil && !unreadable {
		if _, err := pgx.ParseConfig(withoutTLSFiles(dsn)); err == nil {
			return nil, errTLSFiles
		}
	}
	return nil, errInvalidDSN
}

// hasURLAsKeyword reports whether pgx has taken a URL for a keyword.
func hasURLAsKeyword(config *pgx.ConnConfig) bool {
	for keyword := range config.RuntimeParams {
		if strings.Contains(keyword, "://") {
			return true
		}
	}
	return false
}

// isScheme reports whether a DSN that begins with scheme and :// is a URL for pgx.
func isScheme(scheme string) bool { return scheme == "postgres" || scheme == "postgresql" }

// withoutTLSFiles returns a DSN that makes pgx read no file of TLS: the last of several settings
// with the same name is used.
func withoutTLSFiles(dsn string) string {
	scheme, _, _ := strings.Cut(dsn, "://")
	switch {
	case !isScheme(scheme):
		return dsn + " sslcertmode=disable sslrootcert="
	case strings.Contains(dsn, "?"):
		return dsn + "&sslcertmode=disable&sslrootcert="
	}
	return dsn + "?sslcertmode=disable&sslrootcert="
}

// nameOf returns the database and the hosts of a DSN, without user and password.
func nameOf(dsn string) string {
	config, err := parse(dsn)
	if err != nil {
		return "(invalid DSN)"
	}
	return nameOfConfig(config)
}

func nameOfConfig(config *pgx.ConnConfig) string {
	return fmt.Sprintf("%s on %s", cmp.Or(config.Database, config.User), nameOfHosts(config))
}

// nameOfHosts returns the hosts and ports of a configuration.
func nameOfHosts(config *pgx.ConnConfig) string {
	hosts := []string{hostPort(config.Host, config.Port)}
	for _, fallback := range config.Fallbacks {
		hosts = append(hosts, hostPort(fallback.Host, fallback.Port))
	}
	slices.Sort(hosts) // a host with TLS is listed again without it
	return strings.Join(slices.Compact(hosts), ",")
}

func hostPort(host string, port uint16) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}
