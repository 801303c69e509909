package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// hidden stands in messages for a value that may be a secret.
const hidden = "(hidden)"

// setting is one field of a Config under the names that operators give it.
type setting struct {
	key    string // section.name
	preset string
	secret bool
	field  any // points into the Config
}

// settings lists the fields of c in the order of its declaration.
func settings(c *Config) []setting {
	var all []setting
	for section, fields := range reflect.ValueOf(c).Elem().Fields() {
		for field, value := range fields.Fields() {
			all = append(all, setting{
				key:    section.Tag.Get("key") + "." + field.Tag.Get("key"),
				preset: field.Tag.Get("default"),
				secret: field.Tag.Get("secret") == "true",
				field:  value.Addr().Interface(),
			})
		}
	}
	return all
}

// Keys returns the keys of all settings, such as server.address, in the order of Config's declaration.
func Keys() []string {
	var keys []string
	for _, s := range settings(new(Config)) {
		keys = append(keys, s.key)
	}
	return keys
}

func (s setting) section() string {
	section, _, _ := strings.Cut(s.key, ".")
	return section
}

func (s setting) env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(s.key, ".", "_"))
}

// assign stores a value, text or a list of texts, and reports whether the field's type can hold it.
func (s setting) assign(value any) bool {
	text, isText := value.(string)
	var err error
	switch field := s.field.(type) {
	case *string:
		*field = text
		return isText
	case *[]string:
		*field = split(value)
	case *bool:
		*field = strings.EqualFold(text, "true")
		return *field || strings.EqualFold(text, "false")
	case *int:
		*field, err = strconv.Atoi(text)
	case *time.Duration:
		*field, err = time.ParseDuration(text)
	case *time.Time:
		*field, err = parseTime(text)
	default:
		return false
	}
	return err == nil
}

// form tells how the setting is written: the YAML types that a file may use for it, and the words for a person.
func (s setting) form() (tags, words string) {
	switch s.field.(type) {
	case *[]string:
		return "!!seq", "must be a list of texts"
	case *bool:
		return "!!bool", "must be true or false"
	case *int:
		return "!!int", "must be a whole number in plain digits"
	case *time.Duration:
		return "!!str", "must be a duration with its unit, such as 15s or 2m"
	case *time.Time:
		return "!!timestamp !!str", "must be a moment such as 2030-12-05T00:00:00Z or a day such as 2030-12-05"
	default:
		return "!!str", "must be text; put it in quotes"
	}
}

// show quotes the setting's value for a message.
func (s setting) show(value any) string {
	if s.secret {
		return hidden
	}
	return show(value)
}

// show quotes a value unless it holds an @, which may be that of a URL with a password in it.
func show(value any) string {
	quoted := fmt.Sprintf("%q", value)
	if strings.Contains(quoted, "@") {
		return hidden
	}
	return quoted
}

func split(value any) []string {
	if list, ok := value.([]string); ok {
		return list
	}
	text, _ := value.(string)
	if text == "" {
		return nil
	}
	list := strings.Split(text, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

func parseTime(text string) (time.Time, error) {
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Parse(time.DateOnly, text)
	}
	return moment.UTC(), nil
}
