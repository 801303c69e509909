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

// laterURL matches a DSN in which the URL of a database is not at the start.
var laterURL = regexp.MustCompile(`(?s).postgres(ql)?://`)

// parseDSN returns the configuration for connections. Its error contains no part of the DSN, which may
// contain a password, except the path of a file that cannot be read.
func parseDSN(dsn string) (*pgx.ConnConfig, error) {
	config, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, connectTimeout)
	config.ValidateConnect = checkConnection
	// This is set, not a default: settings of the user or of the database must not make the server convert
	// texts.
	config.RuntimeParams["client_encoding"] = "UTF8"
	setDefaults(config.RuntimeParams, map[string]string{"application_name": "petstore"})
	return config, nil
}

// parse parses a DSN. It rejects a DSN that pgx would misunderstand:
//
//   - A URL whose password has a character that must be escaped. pgx would take the text after an @ for a
//     host, and the text after a / or ? for a database.
//   - A URL that does not begin the DSN, for example after a blank, or that has another scheme. pgx would
//     take it for a keyword or a value, and connect to another server.
//   - A keyword without a value, as in user= password=secret. Its value would be password=secret.
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
	if unreadable && !strings.ContainsAny(failure.Path, "=&?@") { // such a path may be a part of a mistyped DSN
		// failure itself is not wrapped: isConnectionError would take it for an error of the network.
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

// isScheme reports whether pgx takes a DSN that begins with scheme and :// for a URL.
func isScheme(scheme string) bool { return scheme == "postgres" || scheme == "postgresql" }

// withoutTLSFiles returns dsn with settings that make pgx read no files for TLS. pgx uses the last of
// several settings with the same name.
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
	slices.Sort(hosts) // pgx lists a host with TLS again, to be tried without it
	return strings.Join(slices.Compact(hosts), ",")
}

func hostPort(host string, port uint16) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}
