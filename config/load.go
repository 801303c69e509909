package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"
)

// Options are the sources of the settings, besides the environment.
type Options struct {
	File        string            // the path of a file, from the command line
	SearchPaths []string          // where a file is looked for if neither File nor PETSTORE_CONFIG names one
	Overrides   map[string]string // from the command line, by key, written as in the environment
}

// Value is the value of a setting as text.
type Value struct {
	Key    string // the setting, such as server.address
	Text   string // as written in the environment, where lists are separated by commas
	Source string // the path of the file, the name of an environment variable, "command line" or "default"
}

const (
	commandLine = "command line"
	byDefault   = "default"
	hidden      = "(hidden)"
)

// InvalidError holds all problems of a configuration: each says in one line which value of which source is invalid, and
// what is valid.
type InvalidError struct{ Problems []string }

// Error returns each problem on its own line.
func (e *InvalidError) Error() string {
	return "the configuration is not valid:\n  " + strings.Join(e.Problems, "\n  ")
}

// Load reads the settings. Its error is an *InvalidError with every unknown name, every wrong type in the file, and every
// invalid value in force.
func Load(o Options) (Config, error) {
	l, err := load(o)
	return l.config, err
}

// Explain returns the value in force of every setting, in the order of Keys, and the error of Load. Text is "(hidden)" for
// a value that may be a secret, and "(invalid)" for one with a problem.
func Explain(o Options) ([]Value, error) {
	l, err := load(o)
	var values []Value
	for _, s := range settings {
		text := l.GetString(s.key)
		if _, ok := l.Get(s.key).([]any); ok {
			text = strings.Join(l.GetStringSlice(s.key), ",")
		}
		if l.isInvalid(s) {
			text = "(invalid)"
		} else if text != s.Tag.Get("default") && s.quote(text) == hidden {
			text = hidden
		}
		values = append(values, Value{s.key, text, l.source(s)})
	}
	return values, err
}

type loader struct {
	*viper.Viper
	config   Config
	file     string            // its path, or "(hidden)"
	sources  map[string]string // by key, of the settings of the environment and the command line
	invalid  map[string]bool   // by key and source
	problems []string
}

func load(o Options) (*loader, error) {
	l := &loader{Viper: viper.NewWithOptions(viper.WithDecoderRegistry(decoder(""))), sources: map[string]string{}, invalid: map[string]bool{}}
	l.readFile(o)
	l.readEnvironment()
	for key, text := range o.Overrides {
		if byKey[key] == nil {
			l.reportUnknown(key, commandLine)
			continue
		}
		l.Set(key, text)
		l.sources[key] = commandLine
	}
	for _, s := range settings {
		l.SetDefault(s.key, s.Tag.Get("default"))
	}
	l.decode(&l.config, convertTyped, convertText)
	l.validate()
	if len(l.problems) > 0 {
		slices.Sort(l.problems)
		return l, &InvalidError{l.problems}
	}
	return l, nil
}

// decode decodes the settings with hooks, without which mapstructure would convert nothing, and reports the values that
// cannot be decoded.
func (l *loader) decode(config *Config, hooks ...mapstructure.DecodeHookFunc) {
	strict := func(c *mapstructure.DecoderConfig) {
		c.WeaklyTypedInput, c.DecodeHook = false, mapstructure.ComposeDecodeHookFunc(hooks...)
	}
	if l.UnmarshalExact(config, strict) == nil {
		return
	}
	for _, s := range settings {
		if l.UnmarshalKey(s.key, reflect.New(s.Type).Interface(), strict) != nil && !l.isInvalid(s) {
			l.reject(s, l.Get(s.key), remedies[s.Type])
		}
	}
}

// source returns the source of the value in force.
func (l *loader) source(s *setting) string {
	switch source, ok := l.sources[s.key]; {
	case ok:
		return source
	case l.InConfig(s.key):
		return l.file
	}
	return byDefault
}

// isInvalid reports whether the value in force has a problem.
func (l *loader) isInvalid(s *setting) bool { return l.invalid[s.key+" "+l.source(s)] }

// reject reports the value in force, or an element of it.
func (l *loader) reject(s *setting, value any, remedy string) {
	l.invalid[s.key+" "+l.source(s)] = true
	l.report(l.describe(s, value), remedy)
}

// describe returns a setting with its value and the source of that.
func (l *loader) describe(s *setting, value any) string {
	return fmt.Sprintf("%s = %s (%s)", s.key, s.quote(value), l.source(s))
}

func (l *loader) report(invalid, remedy string) { l.problems = append(l.problems, invalid+": "+remedy) }

// setting is a field of a section of Config. Its Index is that in Config.
type setting struct {
	reflect.StructField
	key      string // section.name
	variable string // PETSTORE_SECTION_NAME
	secret   bool
}

// The settings, in the order of their declaration.
var (
	settings []*setting
	sections []string
	keys     []string
	byKey    = map[string]*setting{}
)

func init() {
	for section := range reflect.TypeFor[Config]().Fields() {
		name := section.Tag.Get("mapstructure")
		sections = append(sections, name)
		for field := range section.Type.Fields() {
			field.Index = slices.Concat(section.Index, field.Index)
			key := name + "." + field.Tag.Get("mapstructure")
			s := &setting{field, key, envPrefix + "_" + strings.ToUpper(envKeys.Replace(key)), field.Tag.Get("secret") == "true"}
			settings, keys, byKey[key] = append(settings, s), append(keys, key), s
		}
	}
}

// Keys returns the keys of all settings, such as server.address, in the order of their declaration.
func Keys() []string { return slices.Clone(keys) }

// quote returns a value for a message. It hides a secret, and a value with an @, which may be a URL with a password.
func (s *setting) quote(value any) string {
	text, err := json.Marshal(value)
	if err != nil || s.secret || strings.Contains(string(text), "@") {
		return hidden
	}
	return string(text)
}

// remedies say what is valid for each type of setting.
var remedies = map[reflect.Type]string{
	reflect.TypeFor[string]():        "must be text; put it in quotes",
	reflect.TypeFor[[]string]():      "must be a list of texts",
	reflect.TypeFor[bool]():          "must be true or false",
	reflect.TypeFor[int]():           "must be a whole number in plain digits",
	reflect.TypeFor[time.Duration](): "must be a duration with its unit, such as 500ms, 15s, 2m or 1d",
}

var errType = errors.New("not of this type") // the message of the problem is that of remedies

// convertTyped is the hook for values of a file, of which mapstructure would truncate 4.5, and take 10 as nanoseconds. JSON
// has no integers, so 4.0 is one.
func convertTyped(_, field reflect.Type, value any) (any, error) {
	if number, ok := value.(float64); ok && number != math.Trunc(number) {
		return nil, errType
	}
	if field != reflect.TypeFor[time.Duration]() {
		return value, nil
	}
	if text, ok := value.(string); ok {
		return ParseDuration(text)
	}
	return nil, errType
}

// convertText is the hook for values of the environment, the command line and the defaults, which are texts.
func convertText(_, field reflect.Type, value any) (any, error) {
	text, ok := value.(string)
	switch {
	case !ok || field.Kind() == reflect.String:
		return value, nil
	case field.Kind() != reflect.Slice:
		parsed, text := reflect.New(field), strings.ToLower(text)
		if json.Unmarshal([]byte(text), parsed.Interface()) != nil || fmt.Sprint(parsed.Elem()) != text { // such as null
			return nil, errType
		}
		return parsed.Elem().Interface(), nil
	case text == "":
		return []string{}, nil
	}
	return comma.Split(text, -1), nil
}

var comma = regexp.MustCompile(`\s*,\s*`) // between the elements of a list

// ParseDuration parses a number of days of 24 hours, such as 90d, or a duration in the format of time.ParseDuration, such
// as 36h or 1h30m.
func ParseDuration(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16) // so many days do not overflow
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}
