package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/go-json-experiment/json"
)

// Value is the value of a setting as text.
type Value struct {
	Key    string // the setting, such as server.address
	Text   string // as written in the environment, where lists are separated by commas
	Source string // the path of the file, the name of an environment variable, "command line" or "default"
}

// InvalidError holds all problems of a configuration: each says in one line which value of which source is invalid, and
// what is valid.
type InvalidError struct{ Problems []string }

// Error returns each problem on its own line.
func (e *InvalidError) Error() string {
	return "the configuration is not valid:\n  " + strings.Join(e.Problems, "\n  ")
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
		if l.invalid[s.key] {
			text = "(invalid)"
		} else if text != s.Tag.Get("default") && s.quote(text) == hidden {
			text = hidden
		}
		values = append(values, Value{s.key, text, l.source(s)})
	}
	return values, err
}

// quote returns a value for a message. It hides a secret, and a value with an @, which may be a URL with a password.
func (s *setting) quote(value any) string {
	text, err := json.Marshal(value)
	if err != nil || s.isSecret() || strings.Contains(string(text), "@") {
		return hidden
	}
	return string(text)
}

// source returns the source of the value in force.
func (l *loader) source(s *setting) string { return cmp.Or(l.sources[s.key], byDefault) }

// describe returns a setting with its value and the source of that.
func (l *loader) describe(s *setting, value any) string {
	return fmt.Sprintf("%s = %s (%s)", s.key, s.quote(value), l.source(s))
}

// reject reports the value in force, or an element of it.
func (l *loader) reject(s *setting, value any, remedy string) {
	l.invalid[s.key] = true
	l.report(l.describe(s, value), remedy)
}

func (l *loader) report(invalid, remedy string) { l.problems = append(l.problems, invalid+": "+remedy) }

// reportUnknown reports an unknown key or variable, without its value, which may be a secret. The name is escaped because
// it may be any text.
func (l *loader) reportUnknown(name, source string, known []string) {
	distance := func(other string) int {
		return levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(other))
	}
	remedy := "no such setting; petstore config lists all"
	nearest := slices.MinFunc(known, func(a, b string) int { return cmp.Compare(distance(a), distance(b)) })
	if distance(nearest) <= 3 {
		remedy = "no such setting; did you mean " + nearest + "?"
	}
	l.report(strings.Trim(strconv.Quote(name), `"`)+" ("+source+")", remedy)
}
