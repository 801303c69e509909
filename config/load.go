package config

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"
)

// Options are the sources of the settings, in addition to the environment.
type Options struct {
	File        string            // the path of the file that the command line names, or empty
	SearchPaths []string          // the files to try if neither File nor PETSTORE_CONFIG names a file
	Overrides   map[string]string // values from the command line, by key, written as in the environment
}

const (
	envPrefix   = "PETSTORE"
	envConfig   = envPrefix + "_CONFIG" // names the file
	commandLine = "command line"
	byDefault   = "default"
	hidden      = "(hidden)"
)

// Find returns the path of the settings file, and where the path comes from: "command line", "PETSTORE_CONFIG" or
// "default". The path is empty if there is no file.
func (o Options) Find() (path, source string) {
	if o.File != "" {
		return o.File, commandLine
	}
	if path := os.Getenv(envConfig); path != "" {
		return path, envConfig
	}
	for _, path := range o.SearchPaths {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) { // Load returns any other error
			return path, byDefault
		}
	}
	return "", byDefault
}

// Load reads and validates the settings. Its error is an *InvalidError with all problems.
func Load(o Options) (Config, error) {
	l, err := load(o)
	return l.config, err
}

type loader struct {
	*viper.Viper
	config   Config
	sources  map[string]string // the source of each value, by key; a default has none
	invalid  map[string]bool   // the keys of invalid values
	problems []string
}

func load(o Options) (*loader, error) {
	settings := viper.NewWithOptions(viper.WithDecoderRegistry(decoders{viper.NewCodecRegistry()}))
	l := &loader{Viper: settings, sources: map[string]string{}, invalid: map[string]bool{}}
	l.readFile(o)
	l.bindEnvironment()
	for key, text := range o.Overrides {
		if byKey[key] == nil {
			l.reportUnknown(key, commandLine, keys)
			continue
		}
		l.Set(key, text)
		l.sources[key] = commandLine
	}
	if database, err := DatabaseOf(l.GetString("database.dsn")); err == nil {
		l.SetDefault("database.driver", database.Driver)
	}
	l.decode()
	l.validate()
	if len(l.problems) > 0 {
		slices.Sort(l.problems)
		return l, &InvalidError{slices.Compact(l.problems)}
	}
	return l, nil
}

// readFile reads the file, and reports unknown keys, keys without a value, and a text where a number or a boolean is
// required. (In the environment every value is a text.)
func (l *loader) readFile(o Options) {
	path, source := o.Find()
	if path == "" {
		return
	}
	file := path
	if LooksLikeDSN(path) {
		file = hidden
	}
	l.SetConfigFile(path)
	if err := l.ReadInConfig(); err != nil {
		cause := cmp.Or(errors.Unwrap(err), errFormat) // the error of the operating system or of a parser
		text := yamlValue.ReplaceAllString(cause.Error(), hidden)
		l.report(file+" ("+source+")", "cannot be read: "+strings.Join(strings.Fields(text), " "))
		return
	}
	for _, s := range settings {
		if l.InConfig(s.key) {
			l.sources[s.key] = file
		}
	}
	for _, key := range l.AllKeys() { // the keys of the file, because no other source is bound yet
		s, value := byKey[key], l.Get(key)
		_, isText := value.(string)
		switch {
		case s == nil && value != nil:
			l.reportUnknown(key, file, keys)
		case s != nil && value == nil:
			l.report(key+" ("+file+")", "has no value; write one, or leave the setting out")
		case isText && s.Type.Kind() != reflect.String && s.Type.Kind() != reflect.Slice && s.Type != duration:
			l.report(l.describe(s, value), typeRemedies[s.Type])
		}
	}
}

// yamlValue matches a value in the error of a parser. The value may be a secret.
var yamlValue = regexp.MustCompile("(?s)`.*`")

// bindEnvironment binds the settings to their environment variables and defaults, and reports unknown variables.
func (l *loader) bindEnvironment() {
	l.SetEnvPrefix(envPrefix)
	l.SetEnvKeyReplacer(strings.NewReplacer(".", "_"))
	l.AllowEmptyEnv(true)
	for _, s := range settings {
		l.SetDefault(s.key, s.Tag.Get("default"))
		l.MustBindEnv(s.key)
		if _, ok := os.LookupEnv(s.variable); ok {
			l.sources[s.key] = s.variable
		}
		if path, ok := os.LookupEnv(s.variable + "_FILE"); ok && s.isSecret() {
			l.readSecret(s, path)
		}
	}
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, envPrefix+"_") && !slices.Contains(variables, name) && !notSettings.MatchString(entry) {
			l.reportUnknown(name, "environment", variables)
		}
	}
}

// notSettings matches variables that are not settings: the variables of the tests, and the variables that Kubernetes sets
// for services named petstore or petstore-….
var notSettings = regexp.MustCompile(`^PETSTORE_(TEST_|([A-Z0-9_]+_)?(SERVICE_HOST=|SERVICE_PORT[=_]|PORT=[a-z]+://|PORT_[0-9]+_))`)

// readSecret sets a setting to the content of the file at path. It reports a problem if the variable without _FILE
// is set, too, or if the file cannot be read.
func (l *loader) readSecret(s *setting, path string) {
	content, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	text, both := strings.TrimRight(string(content), "\r\n"), l.sources[s.key] == s.variable
	l.Set(s.key, text)
	l.sources[s.key] = s.variable + "_FILE"
	if both {
		l.reject(s, text, "set either "+s.variable+" or "+s.variable+"_FILE")
	} else if err != nil { // the problem does not name the path, which may be the secret itself
		l.invalid[s.key] = true
		l.report(s.variable+"_FILE (environment)", "must name a file that can be read: "+errors.Unwrap(err).Error())
	}
}

// decode decodes the settings, and reports values of a wrong type.
func (l *loader) decode() {
	strict := func(c *mapstructure.DecoderConfig) { c.WeaklyTypedInput, c.DecodeHook = false, convert }
	if l.UnmarshalExact(&l.config, strict) == nil {
		return
	}
	for _, s := range settings {
		if l.UnmarshalKey(s.key, reflect.New(s.Type).Interface(), strict) != nil {
			l.reject(s, l.Get(s.key), typeRemedies[s.Type])
		}
	}
}

// convert is the decode hook of mapstructure. It parses texts. It rejects numbers that mapstructure would convert: 4.5 to
// an integer, and 10 to a duration of 10 ns.
func convert(_, field reflect.Type, value any) (any, error) {
	text, isText := value.(string)
	number, isFloat := value.(float64) // every number in a JSON file is a float64
	switch {
	case isText && field == duration:
		return ParseDuration(text)
	case field == duration, isFloat && number != math.Trunc(number):
		return nil, errors.New("not of this type") // not shown: the problem has the text of typeRemedies
	case isText && field.Kind() == reflect.Bool:
		return strconv.ParseBool(text)
	case isText && field.Kind() == reflect.Int:
		return strconv.Atoi(text)
	case isText && field.Kind() == reflect.Slice:
		return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }), nil
	}
	return value, nil
}

// ParseDuration parses a duration in the format of time.ParseDuration, such as 36h or 1h30m, or a whole number of days,
// such as 90d. A day has 24 hours.
func ParseDuration(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16) // 16 bits, because 65535 days do not overflow a Duration
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}
