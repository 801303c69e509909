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

// A Value is the value of a setting as text, and its source. Scripts depend on its JSON names.
type Value struct {
	Key    string `json:"setting"` // such as server.address
	Text   string `json:"value"`   // as written in the environment: the elements of a list are separated by commas
	Source string `json:"source"`  // the path of the file, the name of an environment variable, "command line" or "default"
}

// An InvalidError has all problems of a configuration. Each problem is one line: the setting, its value, the source
// of the value, and what would be valid.
type InvalidError struct{ Problems []string }

// Error returns each problem on its own line.
func (e *InvalidError) Error() string {
	return "the configuration is not valid:\n  " + strings.Join(e.Problems, "\n  ")
}

// Explain returns the value of every setting, in the order of Keys, and the error of Load. The Text of a value that
// may be a secret is "(hidden)", the Text of an invalid value is "(invalid)".
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
		} else if text != s.Tag.Get("default") && s.quote(text) == hidden && !l.isPath(s, text) {
			text = hidden
		}
		values = append(values, Value{s.key, text, l.source(s)})
	}
	return values, err
}

// isPath reports whether the DSN is the path of a SQLite file, which is no secret: it says which store a command uses.
func (l *loader) isPath(s *setting, text string) bool {
	return s.key == "database.dsn" && l.GetString("database.driver") == "sqlite" && !LooksLikeDSN(text) && !withPassword.MatchString(text)
}

// quote returns a value for a message. It hides the value of a secret setting, and a value that may contain a password.
func (s *setting) quote(value any) string {
	text, err := json.Marshal(value)
	if err != nil || s.isSecret() || withPassword.Match(text) {
		return hidden
	}
	return string(text)
}

// withPassword matches values that may contain a password: a URL with an @, or the keyword password of libpq.
var withPassword = regexp.MustCompile(`@|(?i)password`)

// source returns the source of the value of a setting, in the form of Value.Source.
func (l *loader) source(s *setting) string { return cmp.Or(l.sources[s.key], byDefault) }

// describe returns the key of a setting, its value and the source of the value.
func (l *loader) describe(s *setting, value any) string {
	return fmt.Sprintf("%s = %s (%s)", s.key, s.quote(value), l.source(s))
}

// reject reports that a value of a setting, or an element of a list, is invalid.
func (l *loader) reject(s *setting, value any, remedy string) {
	l.invalid[s.key] = true
	l.report(l.describe(s, value), remedy)
}

func (l *loader) report(invalid, remedy string) { l.problems = append(l.problems, invalid+": "+remedy) }

// reportUnknown reports an unknown key or variable. It does not repeat the value, which may be a secret.
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

// nameOf returns the name of an unknown key or variable for a message. It hides a name with other characters than
// letters, digits and "_.-": it may be a secret value whose name was forgotten.
func nameOf(name string) string {
	if !plainName.MatchString(name) {
		return hidden
	}
	return name
}

var plainName = regexp.MustCompile(`^[\w.-]*$`)
