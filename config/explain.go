package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
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

// quote returns a value for a message. It hides a secret, and a value that may have a password.
func (s *setting) quote(value any) string {
	text, err := json.Marshal(value)
	if err != nil || s.isSecret() || withPassword.Match(text) {
		return hidden
	}
	return string(text)
}

// withPassword matches an @, before which a URL may have a password, and keywords of libpq.
var withPassword = regexp.MustCompile(`@|(?i)password`)

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

// reportUnknown reports an unknown key or variable, without its value, which may be a secret.
func (l *loader) reportUnknown(name, source string, known []string) {
	distance := func(other string) int {
		return levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(other))
	}
	remedy := "no such setting; petstore config lists all"
	nearest := slices.MinFunc(known, func(a, b string) int { return cmp.Compare(distance(a), distance(b)) })
	if i := slices.IndexFunc(known, func(key string) bool { return strings.HasPrefix(key, name+".") }); i >= 0 {
		remedy = "a section, not a setting; name one of its settings, such as " + known[i]
	} else if distance(nearest) <= 3 {
		remedy = "no such setting; did you mean " + nearest + "?"
	}
	l.report(nameOf(name)+" ("+source+")", remedy)
}

// nameOf returns the name of an unknown key or variable for a message. It hides what no name has, which may
// be a value whose name was forgotten.
func nameOf(name string) string {
	if !plainName.MatchString(name) {
		return hidden
	}
	return name
}

var plainName = regexp.MustCompile(`^[\w.-]*$`)
