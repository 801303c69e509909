package config

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/viper"
)

// Options are the sources of the settings.
type Options struct {
	File      string            // the path of a YAML file; empty reads none
	Environ   []string          // NAME=value, as os.Environ returns it; a variable that is set but empty counts
	Overrides map[string]string // from the command line, by key, written as in the environment
}

// Value is the value of a setting as text.
type Value struct {
	Key    string // the setting, such as server.address
	Text   string // as written in the environment, where lists are separated by commas
	Source string // file:line, the name of an environment variable, "command line" or "default"
}

// Problem is an invalid value. Key is empty if the whole file is invalid. Text is quoted, "(hidden)" or empty.
type Problem struct {
	Value
	Remedy string // what is valid instead
}

// InvalidError holds all problems of a configuration, ordered by key.
type InvalidError struct{ Problems []Problem }

// Error returns each problem on its own line.
func (e *InvalidError) Error() string {
	text := "the configuration is not valid:"
	for _, p := range e.Problems {
		text += "\n  " + p.where() + ": " + p.Remedy
	}
	return text
}

// where returns the value, its Text quoted or hidden, and its source.
func (v Value) where() string {
	if v.Key == "" {
		return v.Source
	}
	return strings.TrimSuffix(v.Key+" = "+v.Text, " = ") + " (" + v.Source + ")"
}

// Load reads the settings. Its error is an *InvalidError with every unknown name and every wrong YAML type, and with
// every invalid value in force.
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
		v := l.value(s)
		if l.invalid(s) {
			v.Text = "(invalid)"
		} else if v.Text != s.Tag.Get("default") && s.quote(v.Text) == hidden {
			v.Text = hidden
		}
		values = append(values, v)
	}
	return values, err
}

type loader struct {
	values   *viper.Viper // a Value for each key
	config   Config
	problems []Problem
}

func load(o Options) (*loader, error) {
	l := &loader{values: viper.New()}
	for _, s := range settings {
		l.values.SetDefault(s.key, Value{s.key, s.Tag.Get("default"), "default"})
	}
	root, err := parseFile(o.File)
	if err != nil {
		source := o.File
		if LooksLikeDSN(source) {
			source = hidden
		}
		l.report("", "", source, err.Error())
	}
	l.readMapping(o.File, "", root, map[string]int{})
	l.readEnvironment(o.Environ)
	for key, text := range o.Overrides {
		if byKey[key] != nil {
			l.values.Set(key, Value{key, text, "command line"})
		} else {
			l.reportUnknown(key, "command line")
		}
	}
	for _, s := range settings {
		field := reflect.ValueOf(&l.config).Elem().FieldByIndex(s.Index).Addr().Interface()
		if err := l.values.UnmarshalKey(s.key, field, viper.DecodeHook(decodeHook)); err != nil && !l.invalid(s) {
			l.reject(s, l.value(s).Text, formats[s.Type].remedy)
		}
	}
	l.validate()
	if len(l.problems) == 0 {
		return l, nil
	}
	slices.SortStableFunc(l.problems, func(a, b Problem) int { return strings.Compare(a.Key+" "+a.Source, b.Key+" "+b.Source) })
	return l, &InvalidError{l.problems}
}

func (l *loader) value(s *setting) Value { return l.values.Get(s.key).(Value) }

// report adds a problem. It escapes control characters in the key, which may be any text of a file.
func (l *loader) report(key, text, source, remedy string) {
	quoted := strconv.Quote(key)
	l.problems = append(l.problems, Problem{Value{quoted[1 : len(quoted)-1], text, source}, remedy})
}

// reportUnknown reports an unknown key, without its value, which may be a secret.
func (l *loader) reportUnknown(key, source string) {
	remedy := "no such section; there are " + strings.Join(sections, ", ")
	for _, section := range sections {
		if rest, ok := strings.CutPrefix(key, section); ok && (rest == "" || strings.ContainsAny(rest[:1], "._")) {
			remedy = "no such setting; " + section + " has " + strings.Join(names[section], ", ")
		}
	}
	l.report(key, "", source, remedy)
}

// reject reports the value in force, or an element of it.
func (l *loader) reject(s *setting, text, remedy string) {
	l.report(s.key, s.quote(text), l.value(s).Source, remedy)
}

// invalid reports whether the value in force has a problem.
func (l *loader) invalid(s *setting) bool {
	return slices.ContainsFunc(l.problems, func(p Problem) bool { return p.Key == s.key && p.Source == l.value(s).Source })
}
