package config

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Value is a setting in force as a person may read it.
type Value struct {
	// Key is the setting, such as server.address.
	Key string
	// Text is the value as it would be written in the environment: `""` when it is empty, "(hidden)" where it may be a
	// secret, "(invalid)" when it is at fault.
	Text string
	// Source is where it was written: file:line, the environment variable's name, "command line" or "default".
	Source string
}

// Explain tells every setting in the order of Config's declaration. Its error is that of Load, beside which the
// settings are told all the same.
func Explain(o Options) ([]Value, error) {
	var c Config
	l := newLoader(&c)
	err := l.load(&c, o)
	values := make([]Value, len(l.settings))
	for i, s := range l.settings {
		values[i] = Value{Key: s.key, Text: l.text(s), Source: l.sources[s.key]}
	}
	return values, err
}

func (l *loader) text(s setting) string {
	text := s.text()
	switch {
	case l.faulty(s.key):
		return "(invalid)"
	case text == "":
		return `""`
	case s.secret && l.sources[s.key] != fromDefault, show(text) == hidden:
		return hidden
	default:
		return text
	}
}

// text writes what the field holds, in the form that assign reads.
func (s setting) text() string {
	switch value := reflect.ValueOf(s.field).Elem().Interface().(type) {
	case []string:
		return strings.Join(value, ",")
	case time.Time:
		return value.Format(time.RFC3339)
	default:
		return fmt.Sprint(value)
	}
}
