package config

import (
	"strings"
	"testing"

	"example.com/petstore/domain/apikey"
)

func TestInvalidValuesAreRejected(t *testing.T) {
	t.Parallel()
	const number, longer = "must be from 1 to 1000", "must be longer than 0s"
	key := apikey.Generate()
	for _, test := range []struct {
		key    string
		remedy string
		bad    []string
	}{
		{"server.address", remedies["hostport"], []string{
			"", "8080", "127.0.0.1", "127.0.0.1:", ":http", ":-1", ":+1", ":65536", "::1:8080", "http://a:80",
		}},
		{"admin.address", "must be empty or host:port with a port from 0 to 65535, such as 127.0.0.1:9090", []string{"9090", ":65536", " "}},
		{"server.read_header_timeout", longer, []string{"0s", "-1s"}},
		{"server.read_timeout", longer, []string{"0s", "-1s"}},
		{"server.write_timeout", longer, []string{"0s", "-1s"}},
		{"server.idle_timeout", longer, []string{"0s", "-1s"}},
		{"server.request_timeout", longer, []string{"0s", "-1s"}},
		{"server.shutdown_delay", "must be at least 0s", []string{"-1s", "-1ns"}},
		{"server.shutdown_timeout", "must be at least 7s", []string{"0s", "-1s", "6s", "6.999s"}},
		{"server.production_url", remedies["baseurl"], badURLs},
		{"server.staging_url", remedies["baseurl"], badURLs},
		{"server.max_connections", "must not be negative; 0 is no limit", []string{"-1"}},
		{"server.trusted_proxies", remedies["ip|cidr"], []string{
			"localhost", "10.0.0", "10.0.0.256", "10.0.0.0/33", "fe80::1%eth0", "10.0.0.1:80",
		}},
		{"database.driver", "must be sqlite or postgres", []string{"", "SQLite", "PostgreSQL"}},
		{"database.max_open_conns", number, []string{"0", "-1", "1001"}},
		{"database.require_synchronous", remedies["excluded_unless"], []string{"true"}},
		{"cache.max_bytes", "must be from 0, which disables the cache, to 1099511627776", []string{"-1", "1099511627777"}},
		{"cache.max_staleness", "must be from 0s to 5s", []string{"-1ns", "5001ms", "24h"}},
		{"rate_limit.requests", "must be from 0, which is no limit, to 1000000", []string{"-1", "1000001"}},
		{"rate_limit.window", "must be whole seconds, from 1s to 24h", []string{"0s", "-1s", "999ms", "1.5s", "24h0m1s"}},
		{"cors.allowed_origins", remedies["pageorigin"], []string{
			"*", "null", "shop.example.com", "https://*.example.com", "https://shop.example.com/", "https://shop.example.com/shop",
			"https://shop.example.com?", "https://me:pw", "https://shop.example.com:65536",
			"http://shop.example.com:80", "https://shop.example.com:443", "ftp://shop.example.com", "//shop.example.com",
		}},
		{"log.level", "must be debug or info or warn or error", []string{"", "INFO", "trace"}},
		{"log.format", "must be console or json", []string{"", "JSON", "text"}},
		{"tracing.otlp_endpoint", remedies["plainurl"], []string{
			"localhost:4318", "grpc://localhost:4317", "http://localhost:4318/", "http://localhost:4318?a=b", "http://",
		}},
		// texts that are not of the type
		{"server.idle_timeout", typeRemedies[duration], []string{"", "10", "true", "1 s", "d", "-1d", "1.5d", "99999d", "1d12h"}},
		{"database.max_open_conns", typeRemedies[byKey["database.max_open_conns"].Type], []string{"", "4.0", "0x4", "four", "null", " 4", "99999999999999999999"}},
		{"database.migrate", typeRemedies[byKey["database.migrate"].Type], []string{"", "2", "yes", "on"}},
		// secrets
		{"auth.bootstrap_key", remedies["bootstrapkey"], []string{
			"petstore_", key[:len(key)-1], key + "a", key[:len(key)-1] + "-", key[len("petstore_"):], " " + key, "petstore_" + strings.Repeat("a", 49),
		}},
		{"database.dsn", remedies["dsn"], []string{
			"", " ", ":memory:", "file:pets.db", "file::memory:", "pets.db?mode=ro", "postgres://db/pets", "a\x00b", "host=db",
			" Host = db password=hunter2", "db:5432 password=hunter2", "pets:hunter2@db:5432/pets",
		}},
	} {
		for _, bad := range test.bad {
			t.Run(test.key+"="+bad, func(t *testing.T) {
				t.Parallel()
				checkProblems(t, Options{Overrides: map[string]string{test.key: bad}},
					test.key+" = "+byKey[test.key].quote(bad)+" (command line): "+test.remedy)
			})
		}
	}
}

func TestEveryTypeAndRuleHasARemedy(t *testing.T) {
	t.Parallel()
	for _, s := range settings {
		if typeRemedies[s.Type] == "" {
			t.Errorf("%s: the type %v has no remedy", s.key, s.Type)
		}
		for rule := range strings.SplitSeq(s.Tag.Get("validate"), ",") {
			name, _, _ := strings.Cut(rule, "=")
			if name != "" && name != "omitempty" && name != "dive" && remedies[name] == "" && s.Tag.Get("remedy") == "" {
				t.Errorf("%s: the rule %s has no remedy", s.key, name)
			}
		}
	}
}

var badURLs = []string{
	"pets.example.com", "//pets.example.com", "ftp://pets.example.com", "https://", "https:pets",
	"https://pets.example.com/", "https://pets.example.com/v1", "https://pets.example.com/v1/", "https://pets.example.com?a=b",
	"https://pets.example.com?", "https://pets.example.com#a", "https://pets.example.com#", "https://me@pets.example.com",
	"https://[::1", "https://[1:2]", "https://pets.example.com/a b", "{base_url}", " ",
}

func TestPostgresDSNMustBeAConnectionString(t *testing.T) {
	t.Parallel()
	load := func(dsn string) Options {
		return Options{Overrides: map[string]string{"database.driver": "postgres", "database.dsn": dsn}}
	}
	for _, bad := range []string{"", "pets.db", "mysql://db/pets", "db1:5432/pets", " postgres://db/pets", "\npostgresql://db/pets"} {
		checkProblems(t, load(bad), "database.dsn = (hidden) (command line): "+remedies["dsn"])
	}
	checkProblems(t, Options{Overrides: map[string]string{"database.driver": "postgres"}}, "database.dsn = (hidden) (default): "+remedies["dsn"])
	mysql := map[string]string{"database.driver": "mysql", "database.dsn": "mysql://db/pets"} // only the driver is invalid
	checkProblems(t, Options{Overrides: mysql}, `database.driver = "mysql" (command line): must be sqlite or postgres`)
	for _, good := range []string{"postgres://db/pets", "postgresql://u:p@db1:5432,db2:5433/pets?sslmode=verify-full", "host=/run/postgresql user = pets", "service=pets"} {
		if _, err := Load(load(good)); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
}

func TestValidValuesAreAccepted(t *testing.T) {
	t.Parallel()
	for key, values := range map[string][]string{
		"server.address":          {":0", ":65535", "localhost:80", "[::1]:8080", "[fe80::1%eth0]:80", "0.0.0.0:8080", "pets.example.com:80"},
		"server.production_url":   {"", "http://localhost:8080", "https://[::1]:8443/shop", "https://pets.example.com/shop/v10", "https://a/v1/b"},
		"server.shutdown_delay":   {"0s", "15s", "1d"},
		"server.shutdown_timeout": {"7s"},
		"server.max_connections":  {"0", "100000"},
		"server.trusted_proxies":  {"", "::1", "10.0.0.1/8, fd00::/8"},
		"server.write_timeout":    {"10001ms"},
		"database.dsn":            {"a b.db", "../pets.db", "C:\\pets.db", "/data/100%.db", "shop=1.db", "user/host=1/pets.db", "12:30/pets@home.db"},
		"database.max_open_conns": {"1", "1000", "010"},
		"database.migrate":        {"TRUE", "False", "1"},
		"auth.bootstrap_key":      {"", apikey.Generate()},
		"cache.max_bytes":         {"0", "1099511627776"},
		"cache.max_staleness":     {"0s", "5s"},
		"rate_limit.requests":     {"0", "1000000"},
		"rate_limit.window":       {"1s", "24h", "1d"},
		"cors.allowed_origins":    {"", "https://shop.example.com, http://localhost:3000", "https://[::1]:8443"},
		"log.level":               {"debug", "info", "warn", "error"},
		"log.format":              {"console", "json"},
		"tracing.otlp_endpoint":   {"", "http://localhost:4318", "https://collector.example.com/v1/traces"},
	} {
		for _, value := range values {
			t.Run(key+"="+value, func(t *testing.T) {
				t.Parallel()
				if _, err := Load(Options{Overrides: map[string]string{key: value}}); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestWriteTimeoutMustExceedRequestTimeout(t *testing.T) {
	t.Parallel()
	const request, write = "server.request_timeout", "server.write_timeout"
	checkProblems(t, Options{Overrides: map[string]string{request: "30s"}},
		`server.write_timeout = "30s" (default): must be longer than server.request_timeout`)
	// The rule is not checked while one of its values is invalid.
	checkProblems(t, Options{Overrides: map[string]string{request: "long", write: "1ns"}},
		`server.request_timeout = "long" (command line): `+typeRemedies[duration])
	path := writeConfig(t, "server: {write_timeout: 60}")
	checkProblems(t, Options{File: path, Overrides: map[string]string{request: "50s"}},
		"server.write_timeout = 60 ("+path+"): "+typeRemedies[duration])
}
