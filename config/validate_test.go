package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/domain/apikey"
)

func TestValuesAreCheckedByTheirRules(t *testing.T) {
	t.Parallel()
	key := apikey.Generate()
	for _, test := range []struct {
		keys      string // the names of settings with the same rule
		remedy    string
		good, bad []string
	}{
		{
			"server.address", remedies["address"],
			[]string{
				":0", ":65535", "localhost:80", "[::1]:8080", "[fe80::1%eth0]:80", "0.0.0.0:8080", "pets.example.com:80",
				"unix:/run/petstore.sock", "unix:/" + strings.Repeat("x", 102),
			},
			[]string{
				"", "8080", "127.0.0.1", "127.0.0.1:", ":http", ":-1", ":+1", ":65536", "::1:8080", "http://a:80",
				"unix:", "unix:petstore.sock", "unix:@petstore", "unix:/" + strings.Repeat("x", 103),
			},
		},
		{
			"admin.address", "must be empty or like server.address",
			[]string{"", "unix:/run/admin.sock"},
			[]string{"9090", ":65536", " "},
		},
		{"server.socket_mode", remedies["filemode"], []string{"0660", "600", "0777"}, []string{"", "rw-rw----", "0o660", "0680", "01777", "60"}},
		{
			"server.read_header_timeout server.read_timeout server.write_timeout server.idle_timeout server.request_timeout",
			"must be longer than 0s", nil,
			[]string{"0s", "-1s"},
		},
		{"server.write_timeout", `must be longer than server.request_timeout = "10s" (default)`, []string{"10001ms"}, []string{"10s"}},
		{"server.shutdown_delay", "must be at least 0s", []string{"0s", "15s", "1d"}, []string{"-1s", "-1ns"}},
		{"server.shutdown_timeout", "must be at least 7s", []string{"7s"}, []string{"0s", "-1s", "6s", "6.999s"}},
		{
			"server.production_url server.staging_url", remedies["baseurl"],
			[]string{"", "http://localhost:8080", "https://[::1]:8443/shop", "https://pets.example.com/shop/v10", "https://a/v1/b"},
			[]string{
				"pets.example.com", "//pets.example.com", "ftp://pets.example.com", "https://", "https:pets",
				"https://pets.example.com/", "https://pets.example.com/v1", "https://pets.example.com/v1/", "https://pets.example.com?a=b",
				"https://pets.example.com?", "https://pets.example.com#a", "https://pets.example.com#", "https://me@pets.example.com",
				"https://[::1", "https://[1:2]", "https://pets.example.com/a b", "{base_url}", " ",
			},
		},
		{"server.max_connections", "must not be negative; 0 is no limit", []string{"0", "100000"}, []string{"-1"}},
		{
			"server.trusted_proxies", remedies["ip|cidr"],
			[]string{"", "::1", "10.0.0.1/8, fd00::/8"},
			[]string{"localhost", "10.0.0", "10.0.0.256", "10.0.0.0/33", "fe80::1%eth0", "10.0.0.1:80"},
		},
		{"database.driver", "must be sqlite or postgres", []string{"sqlite"}, []string{"", "SQLite", "PostgreSQL"}},
		{"database.max_open_conns", "must be from 1 to 1000", []string{"1", "1000", "010"}, []string{"0", "-1", "1001"}},
		{"database.require_synchronous", remedies["excluded_unless"], []string{"false"}, []string{"true"}},
		{
			"cache.max_bytes", "must be from 0 to 1099511627776",
			[]string{"0", "1099511627776"},
			[]string{"-1", "1099511627777"},
		},
		{"cache.stale_if_unavailable", "must be from 0s to 24h", []string{"0s", "24h"}, []string{"-1ns", "24h1ns"}},
		{"changes.retention", "must be at least 1h", []string{"1h", "7d", "8760h"}, []string{"0s", "59m", "-1h"}},
		{"changes.streams_per_key", "must be from 1 to 1000", []string{"1", "1000"}, []string{"0", "-1", "1001"}},
		{"rate_limit.requests", "must be from 0 (no limit) to 1000000", []string{"0", "1000000"}, []string{"-1", "1000001"}},
		{
			"rate_limit.window", "must be whole seconds, from 1s to 24h",
			[]string{"1s", "24h", "1d"},
			[]string{"0s", "-1s", "999ms", "1.5s", "24h0m1s"},
		},
		{
			"cors.allowed_origins", remedies["pageorigin"],
			[]string{
				"", "https://shop.example.com, http://localhost:3000", "*", "https://*.example.com, http://localhost:*",
				"capacitor://localhost",
			},
			[]string{ // the test of rest.New has more
				"null", "https://shop*.example.com", "shop.example.com", "https://shop.example.com/", "https://shop.example.com:443",
			},
		},
		{"log.level", "must be debug or info or warn or error", []string{"debug", "INFO", "Warn", "error"}, []string{"", "trace"}},
		{"log.format", "must be console or json", []string{"console", "JSON"}, []string{"", "text"}},
		{
			"tracing.otlp_endpoint", remedies["plainurl"],
			[]string{"", "http://localhost:4318", "https://collector.example.com/v1/traces"},
			[]string{"localhost:4318", "grpc://localhost:4317", "http://localhost:4318/", "http://localhost:4318?a=b", "http://"},
		},
		// texts of each type
		{"server.idle_timeout", typeRemedies[duration], []string{"1d", "1h30m"}, []string{
			"", "10", "true", "soon", "1 s", "90 d", "90D", "d", "-1d", "+1d", "1.5d", "65536d", "1d12h", "12h1d", "99999999999999h",
		}},
		{
			"database.max_open_conns", typeRemedies[byKey["database.max_open_conns"].Type], nil,
			[]string{"", "4.0", "0x4", "four", "null", " 4", "99999999999999999999"},
		},
		{"database.migrate", typeRemedies[byKey["database.migrate"].Type], []string{"TRUE", "False", "1"}, []string{"", "2", "yes", "on"}},
		// secrets
		{"auth.bootstrap_key", remedies["bootstrapkey"], []string{"", key}, []string{
			"petstore_", key[:len(key)-1], key + "a", key[:len(key)-1] + "-", key[len("petstore_"):], " " + key,
			"petstore_" + strings.Repeat("a", 49),
		}},
		{
			"database.dsn", remedies["dsn"],
			[]string{
				"a b.db", "../pets.db", "C:\\pets.db", "/data/100%.db", "shop=1.db", "user/host=1/pets.db", "12:30/pets@home.db",
				"postgres://db/pets", "host=db",
			},
			[]string{
				"", " ", ":memory:", "file:pets.db", "file::memory:", "pets.db?mode=ro", "mysql://db/pets", "a\x00b",
				" Host = db password=hunter2", "db:5432 password=hunter2", "pets:hunter2@db:5432/pets",
			},
		},
	} {
		for key := range strings.FieldsSeq(test.keys) {
			for _, value := range slices.Concat(test.good, test.bad) {
				t.Run(key+"="+value, func(t *testing.T) {
					t.Parallel()
					options := Options{Overrides: map[string]string{key: value}}
					if slices.Contains(test.bad, value) {
						checkProblems(t, options, key+" = "+byKey[key].quote(value)+" (command line): "+test.remedy)
					} else if _, err := Load(options); err != nil {
						t.Error(err)
					}
				})
			}
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

func TestSettingsAreCheckedTogether(t *testing.T) {
	t.Parallel()
	postgres := func(dsn string) Options {
		return Options{Overrides: map[string]string{"database.driver": "postgres", "database.dsn": dsn}}
	}
	for _, bad := range []string{"", "mysql://db/pets", " postgres://db/pets", "\npostgresql://db/pets"} {
		checkProblems(t, postgres(bad), "database.dsn = (hidden) (command line): "+remedies["dsn"])
	}
	const mismatch = `database.driver = "%s" (command line): does not fit database.dsn = (hidden) (%s): correct that, or leave the driver out, ` +
		`because it follows from the DSN`
	for _, other := range []string{"pets.db", "db1:5432/pets"} {
		checkProblems(t, postgres(other), fmt.Sprintf(mismatch, "postgres", "command line"))
	}
	for _, good := range []string{
		"postgres://db/pets", "postgresql://u:p@db1:5432,db2:5433/pets?sslmode=verify-full",
		"host=/run/postgresql user = pets", "service=pets",
	} {
		options := postgres(good)
		for range 2 {
			if got, err := Load(options); err != nil || got.Database.Driver != "postgres" {
				t.Errorf("%v: got the driver %s and %v, want postgres", options.Overrides, got.Database.Driver, err)
			}
			delete(options.Overrides, "database.driver") // the driver follows from the DSN
		}
	}
	file := writeConfig(t, "server: {write_timeout: 60}")
	const request, driver = "server.request_timeout", "database.driver"
	for _, test := range []struct {
		file, want string
		overrides  map[string]string
	}{
		{"", fmt.Sprintf(mismatch, "postgres", "default"), map[string]string{driver: "postgres"}},
		{
			"", `server.write_timeout = "30s" (default): must be longer than server.request_timeout = "30s" (command line)`,
			map[string]string{request: "30s"},
		},
		{
			"", `cors.allowed_origins = "*" (command line): ` + remedies["pageorigin"],
			map[string]string{"cors.allowed_origins": "*, https://shop.example.com"},
		},
		// The rule is not checked while one of its values is invalid.
		{"", "database.dsn = (hidden) (command line): " + remedies["dsn"], map[string]string{driver: "sqlite", "database.dsn": "mysql://db/pets"}},
		{"", request + ` = "long" (command line): ` + typeRemedies[duration], map[string]string{request: "long", "server.write_timeout": "1ns"}},
		{file, "server.write_timeout = 60 (" + file + "): " + typeRemedies[duration], map[string]string{request: "50s"}},
	} {
		checkProblems(t, Options{File: test.file, Overrides: test.overrides}, test.want)
	}
}
