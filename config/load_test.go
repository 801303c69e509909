package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/petstore/domain"
)

func defaults() Config {
	return Config{
		Server: Server{
			Address:           "127.0.0.1:8080",
			ReadHeaderTimeout: 5 * time.Second,
			ReadTimeout:       15 * time.Second,
			WriteTimeout:      30 * time.Second,
			IdleTimeout:       2 * time.Minute,
			RequestTimeout:    10 * time.Second,
			ShutdownTimeout:   20 * time.Second,
		},
		Admin:     Admin{Address: "127.0.0.1:9090"},
		Database:  Database{Driver: "sqlite", DSN: "petstore.db", MaxOpenConns: 4, Migrate: true},
		Cache:     Cache{MaxBytes: 16 << 20},
		RateLimit: RateLimit{Window: time.Minute},
		API:       API{GetPetSunset: domain.GetPetSunset},
		Docs:      Docs{Enabled: true},
		Log:       Log{Level: "info", Format: "json"},
	}
}

func TestLoadReturnsDefaults(t *testing.T) {
	t.Parallel()
	wantDefaults(t, Options{})
}

func TestExampleFileHoldsTheDefaults(t *testing.T) {
	t.Parallel()
	wantDefaults(t, Options{File: "petstore.example.yaml"})
}

func TestExampleFileDescribesEverySettingInOrder(t *testing.T) {
	t.Parallel()
	root, err := parseFile("petstore.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for section := range slices.Chunk(root.Content, 2) {
		commented := 0 // the last line that belongs to a comment: no blank line precedes it
		for pair := range slices.Chunk(section[1].Content, 2) {
			key := section[0].Value + "." + pair[0].Value
			got = append(got, key)
			if pair[0].HeadComment == "" && pair[0].Line != commented+1 {
				t.Errorf("%s has no comment", key)
			}
			commented = pair[0].Line
		}
	}
	if diff := cmp.Diff(Keys(), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLaterSourcesOverrideEarlierOnes(t *testing.T) {
	t.Parallel()
	const fromFile = "log: {level: debug}"
	fromEnv := []string{"PETSTORE_LOG_LEVEL=warn"}
	fromFlag := map[string]string{"log.level": "error"}
	for name, test := range map[string]struct {
		options      Options
		want, source string
	}{
		"default":                    {Options{}, "info", "default"},
		"file over default":          {Options{File: writeConfig(t, fromFile)}, "debug", "petstore.yaml:1"},
		"environment over default":   {Options{Environ: fromEnv}, "warn", "PETSTORE_LOG_LEVEL"},
		"environment over file":      {Options{File: writeConfig(t, fromFile), Environ: fromEnv}, "warn", "PETSTORE_LOG_LEVEL"},
		"flag over file":             {Options{File: writeConfig(t, fromFile), Overrides: fromFlag}, "error", "command line"},
		"flag over environment":      {Options{Environ: fromEnv, Overrides: fromFlag}, "error", "command line"},
		"flag over all":              {Options{File: writeConfig(t, fromFile), Environ: fromEnv, Overrides: fromFlag}, "error", "command line"},
		"last of two variables":      {Options{Environ: []string{"PETSTORE_LOG_LEVEL=warn", "PETSTORE_LOG_LEVEL=error"}}, "error", "PETSTORE_LOG_LEVEL"},
		"another key of the section": {Options{File: writeConfig(t, "log: {format: console}")}, "info", "default"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Load(test.options)
			if err != nil {
				t.Fatal(err)
			}
			if got.Log.Level != test.want {
				t.Errorf("got %q, want %q", got.Log.Level, test.want)
			}
			if source := explain(t, test.options)["log.level"].Source; filepath.Base(source) != test.source {
				t.Errorf("got source %q, want %q", source, test.source)
			}
		})
	}
}

func TestEverySourceReadsEveryType(t *testing.T) {
	t.Parallel()
	want := defaults()
	want.Server.Address = ":80"
	want.Server.RequestTimeout = 1500 * time.Millisecond
	want.Server.TrustedProxies = []string{"10.0.0.0/8", "::1"}
	want.Server.ProductionURL = "https://pets.example.com/shop"
	want.Admin.Address = ""
	want.Database.DSN = "/var/lib/pets @ home.db"
	want.Database.MaxOpenConns = 16
	want.Database.Migrate = false
	want.API.GetPetSunset = time.Date(2031, 1, 2, 0, 0, 0, 0, time.UTC)

	texts := map[string]string{
		"server.address":          ":80",
		"server.request_timeout":  "1.5s",
		"server.trusted_proxies":  "10.0.0.0/8, ::1",
		"server.production_url":   "https://pets.example.com/shop",
		"admin.address":           "",
		"database.dsn":            "/var/lib/pets @ home.db",
		"database.max_open_conns": "16",
		"database.migrate":        "false",
		"api.get_pet_sunset":      "2031-01-02T02:00:00+02:00",
	}
	var environ []string
	for key, text := range texts {
		environ = append(environ, "PETSTORE_"+strings.ToUpper(strings.ReplaceAll(key, ".", "_"))+"="+text)
	}
	file := writeConfig(t, `
server:
  address: :80
  request_timeout: 1.5s
  trusted_proxies: [10.0.0.0/8, "::1"]
  production_url: https://pets.example.com/shop
  idle_timeout: 2m
admin: {address: ""}
database:
  dsn: /var/lib/pets @ home.db
  max_open_conns: 16
  migrate: False
api:
  get_pet_sunset: 2031-01-02
docs:
`)
	for name, options := range map[string]Options{
		"file":         {File: file},
		"environment":  {Environ: environ},
		"command line": {Overrides: texts},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Load(options)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestFileMayUseAliases(t *testing.T) {
	t.Parallel()
	got, err := Load(Options{File: writeConfig(t, `
server:
  read_timeout: &timeout 7s
  idle_timeout: *timeout
  trusted_proxies: [&proxy 10.0.0.1, *proxy]
`)})
	if err != nil {
		t.Fatal(err)
	}
	want := defaults()
	want.Server.ReadTimeout = 7 * time.Second
	want.Server.IdleTimeout = 7 * time.Second
	want.Server.TrustedProxies = []string{"10.0.0.1", "10.0.0.1"}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestEmptyVariableIsSet(t *testing.T) {
	t.Parallel()
	got, err := Load(Options{
		File:    writeConfig(t, "server: {trusted_proxies: [10.0.0.1]}\nadmin: {address: 127.0.0.1:9191}"),
		Environ: []string{"PETSTORE_ADMIN_ADDRESS=", "PETSTORE_SERVER_TRUSTED_PROXIES="},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Admin.Address != "" || len(got.Server.TrustedProxies) != 0 {
		t.Errorf("got %q and %q, want both empty", got.Admin.Address, got.Server.TrustedProxies)
	}
}

func TestOtherVariablesAreIgnored(t *testing.T) {
	t.Parallel()
	wantDefaults(t, Options{Environ: []string{
		"LOG_LEVEL=error",
		"PETSTORE_TEST_POSTGRES_DSN=postgres://localhost",
		"PETSTORE_SERVICE_HOST=10.96.0.10",
		"PETSTORE_SERVICE_PORT_HTTP=80",
		"PETSTORE_PORT_80_TCP=tcp://10.96.0.10:80",
		"PETSTORE_PORT=tcp://10.96.0.10:80",
		"PETSTORE_ADMIN_SERVICE_HOST=10.96.0.11",
		"PETSTORE_ADMIN_SERVICE_PORT=9090",
		"PETSTORE_ADMIN_SERVICE_PORT_HTTP=9090",
		"PETSTORE_ADMIN_PORT=tcp://10.96.0.11:9090",
		"PETSTORE_API_PORT_80_TCP_ADDR=10.96.0.12",
	}})
}

func TestSecretIsReadFromFile(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "dsn")
	if err := os.WriteFile(secret, []byte("/data/pets.db\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Load(Options{
		File:    writeConfig(t, "database: {dsn: other.db}"),
		Environ: []string{"PETSTORE_DATABASE_DSN_FILE=" + secret},
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := "/data/pets.db"; got.Database.DSN != want {
		t.Errorf("got %q, want %q", got.Database.DSN, want)
	}
}

// wantDefaults expects Load to return the defaults of all settings.
func wantDefaults(t *testing.T, o Options) {
	t.Helper()
	got, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(defaults(), got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// writeConfig writes a configuration file and returns its path.
func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "petstore.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
