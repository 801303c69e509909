package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/viper"
)

const (
	fromDefault = "default"
	fromFlags   = "command line"
)

// Options says where Load finds what the operator has set.
type Options struct {
	// File is the path of a YAML file; empty reads none, and none is searched for.
	File string
	// Environ is the environment as NAME=value, the form of os.Environ. A variable that is set but empty counts.
	Environ []string
	// Overrides are the settings given on the command line, by key, written as in the environment.
	Overrides map[string]string
	// IsAPIKey reports whether a text is in the form of an API key, its check included. Without it only the letters
	// are looked at.
	IsAPIKey func(string) bool
}

// Load reads the settings, the defaults first, then the file, the environment and the overrides. Its error is an
// *InvalidError, which names every unknown key in any of them, and every wrong value in force.
func Load(o Options) (Config, error) {
	var c Config
	if err := newLoader(&c).load(&c, o); err != nil {
		return Config{}, err
	}
	return c, nil
}

// loader remembers where each value came from, and all that is wrong. Values stay as they were written, texts and
// lists of texts, until the layers are complete.
type loader struct {
	settings []setting
	layers   *viper.Viper
	sources  map[string]string // by key
	faults   []Fault
	isAPIKey func(string) bool
}

func newLoader(c *Config) *loader {
	l := &loader{settings: settings(c), layers: viper.New(), sources: map[string]string{}}
	for _, s := range l.settings {
		l.layers.SetDefault(s.key, s.preset)
		l.sources[s.key] = fromDefault
	}
	return l
}

func (l *loader) load(c *Config, o Options) error {
	l.readFile(o.File)
	l.readEnvironment(o.Environ)
	l.readOverrides(o.Overrides)
	l.assign()
	if l.isAPIKey = apiKey.MatchString; o.IsAPIKey != nil {
		l.isAPIKey = o.IsAPIKey
	}
	l.validate(c)
	if len(l.faults) > 0 {
		return newInvalidError(l.faults)
	}
	return nil
}

func (l *loader) readOverrides(overrides map[string]string) {
	for key, value := range overrides {
		if _, ok := l.find(key); !ok {
			l.unknown(key, fromFlags)
			continue
		}
		l.override(key, value, fromFlags)
	}
}

func (l *loader) override(key, value, source string) {
	l.layers.Set(key, value)
	l.sources[key] = source
}

func (l *loader) assign() {
	for _, s := range l.settings {
		_, words := s.form()
		l.require(s.key, s.assign(l.layers.Get(s.key)), words)
	}
}

// require notes a fault of the value in force unless ok. A value that is at fault already is spared a second one, and
// so is a rule between several keys of which one is at fault.
func (l *loader) require(key string, ok bool, remedy string, others ...string) {
	if ok || l.faulty(key) || slices.ContainsFunc(others, l.faulty) {
		return
	}
	s, _ := l.find(key)
	l.fault(key, s.show(l.layers.Get(key)), l.sources[key], remedy)
}

// reject notes a fault of a value that is so wrong that no layer can hold it.
func (l *loader) reject(key, shown, source, remedy string) {
	l.sources[key] = source
	l.fault(key, shown, source, remedy)
}

// fault notes a fault. The key may be anything that a file holds, so it is kept to one line.
func (l *loader) fault(key, value, source, remedy string) {
	quoted := strconv.Quote(key)
	l.faults = append(l.faults, Fault{Key: quoted[1 : len(quoted)-1], Value: value, Source: source, Remedy: remedy})
}

func (l *loader) faulty(key string) bool {
	return slices.ContainsFunc(l.faults, func(f Fault) bool { return f.Key == key && f.Source == l.sources[key] })
}

// unknown notes a key that names nothing. Its value is not told: it may be a secret under a mistyped name.
func (l *loader) unknown(key, source string) {
	section, _, _ := strings.Cut(key, ".")
	if names := l.names(section); len(names) > 0 {
		l.fault(key, "", source, "no such setting; "+section+" has "+strings.Join(names, ", "))
		return
	}
	l.fault(key, "", source, "no such section; there are "+strings.Join(l.sections(), ", "))
}

func (l *loader) find(key string) (setting, bool) {
	i := slices.IndexFunc(l.settings, func(s setting) bool { return s.key == key })
	if i < 0 {
		return setting{}, false
	}
	return l.settings[i], true
}

func (l *loader) sections() []string {
	var sections []string
	for _, s := range l.settings {
		sections = append(sections, s.section())
	}
	return slices.Compact(sections)
}

func (l *loader) names(section string) []string {
	var names []string
	for _, s := range l.settings {
		if name, ok := strings.CutPrefix(s.key, section+"."); ok {
			names = append(names, name)
		}
	}
	return names
}
