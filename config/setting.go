package config

import (
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
)

// setting is a field of a section of Config. Its Index is that in Config.
type setting struct {
	reflect.StructField
	key string // section.name
}

// The settings, in the order of their declaration, and their names.
var (
	settings []*setting
	keys     []string
	byKey    = map[string]*setting{}
	sections []string
	names    = map[string][]string{} // by section
)

func init() {
	for section := range reflect.TypeFor[Config]().Fields() {
		sectionKey := section.Tag.Get("key")
		sections = append(sections, sectionKey)
		for field := range section.Type.Fields() {
			field.Index = slices.Concat(section.Index, field.Index)
			name := field.Tag.Get("key")
			s := &setting{field, sectionKey + "." + name}
			settings, keys, byKey[s.key] = append(settings, s), append(keys, s.key), s
			names[sectionKey] = append(names[sectionKey], name)
		}
	}
}

// Keys returns the keys of all settings, such as server.address, in the order of their declaration.
func Keys() []string { return slices.Clone(keys) }

const hidden = "(hidden)"

// quote quotes a value for a message. It hides a secret, and a value with an @, which may be a URL with a password.
func (s *setting) quote(text string) string {
	if s.Tag.Get("secret") == "true" || strings.Contains(text, "@") {
		return hidden
	}
	return strconv.Quote(text)
}

// formats has, for each type of setting, the YAML types that a file may use, a pattern for the text, and the remedy. They
// are stricter than mapstructure, which decodes 0x10 and the empty text as numbers and 1 as true.
var formats = map[reflect.Type]struct{ yaml, pattern, remedy string }{
	reflect.TypeFor[string]():        {"!!str", ``, "must be text; put it in quotes"},
	reflect.TypeFor[[]string]():      {"!!seq", ``, "must be a list of texts, none of them empty or with a comma"},
	reflect.TypeFor[bool]():          {"!!bool", `^(?i:true|false)$`, "must be true or false"},
	reflect.TypeFor[int]():           {"!!int", `^-?(0|[1-9][0-9]*)$`, "must be a whole number in plain digits"},
	reflect.TypeFor[time.Duration](): {"!!str", ``, "must be a duration with its unit, such as 15s or 2m"},
	reflect.TypeFor[time.Time]():     {"!!str !!timestamp", ``, "must be a time such as 2030-12-05T00:00:00Z or a date such as 2030-12-05"},
}

// decodeHook converts a Value to the type of its field.
var decodeHook = mapstructure.ComposeDecodeHookFunc(
	func(_, field reflect.Type, data any) (any, error) {
		v, ok := data.(Value)
		if !ok { // an element of a list
			return strings.TrimSpace(data.(string)), nil
		}
		if !regexp.MustCompile(formats[field].pattern).MatchString(v.Text) {
			return nil, errors.New(formats[field].remedy)
		}
		return v.Text, nil
	},
	mapstructure.StringToSliceHookFunc(","),
	mapstructure.StringToTimeDurationHookFunc(),
	mapstructure.OrComposeDecodeHookFunc(mapstructure.StringToTimeHookFunc(time.RFC3339), mapstructure.StringToTimeHookFunc(time.DateOnly)),
)
