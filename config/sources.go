package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"
)

const (
	envPrefix = "PETSTORE"
	envConfig = envPrefix + "_CONFIG" // names the file
)

var envKeys = strings.NewReplacer(".", "_")

// SearchPaths returns the paths at which petstore looks for a file.
func SearchPaths() []string { return []string{"petstore.yaml", "/etc/petstore/petstore.yaml"} }

// Find returns the path of the file of the settings, and what names it: "command line", PETSTORE_CONFIG or "default". The
// path is empty if there is no file.
func (o Options) Find() (path, source string) {
	if o.File != "" {
		return o.File, commandLine
	}
	if path, ok := os.LookupEnv(envConfig); ok {
		return path, envConfig
	}
	for _, path := range o.SearchPaths {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) { // one that cannot be read is an error of Load
			return path, byDefault
		}
	}
	return "", byDefault
}

// readFile reads the file. It reports unknown keys and wrong types, also of values that another source overrides.
func (l *loader) readFile(o Options) {
	path, source := o.Find()
	if path == "" && source != envConfig {
		return
	}
	l.file = path
	if LooksLikeDSN(path) {
		l.file = hidden
	}
	l.SetConfigFile(path)
	l.SetConfigType(strings.ToLower(strings.TrimPrefix(filepath.Ext(path), ".")))
	if err := l.ReadInConfig(); err != nil {
		file := l.file
		if source == envConfig {
			file = strings.TrimSuffix(envConfig+": "+file, ": ")
		}
		l.report(file, fileRemedy(err))
		return
	}
	for _, key := range l.AllKeys() {
		switch isNull := l.Get(key) == nil; {
		case isNull && slices.Contains(sections, key): // it is empty
		case byKey[key] == nil:
			l.reportUnknown(key, l.file)
		case isNull:
			l.report(key+" ("+l.file+")", "has no value; write one, or leave the setting out")
		}
	}
	l.decode(&Config{}, convertTyped)
}

// fileRemedy returns what is wrong with a file that viper cannot read. It hides the values that package yaml quotes, which
// may be secrets.
func fileRemedy(err error) string {
	_, isParsed := errors.AsType[viper.ConfigParseError](err)
	_, isUnsupported := errors.AsType[viper.UnsupportedConfigError](err)
	_, isUnreadable := errors.AsType[*fs.PathError](err)
	tomlError, isTOML := errors.AsType[*toml.DecodeError](err)
	text := regexp.MustCompile("(?s)`.*`").ReplaceAllString(reason(err), hidden)
	text = strings.ReplaceAll(text, "map[string]interface {}", "sections with settings") // which the file must have
	switch {
	case isUnreadable:
		return "cannot be read: " + text
	case isUnsupported || !isParsed:
		return "must be a file in YAML, TOML or JSON, with a name that ends in .yaml, .yml, .toml or .json"
	case isTOML:
		line, _ := tomlError.Position()
		text = fmt.Sprintf("line %d: %s", line, text)
	}
	return "is not valid: " + strings.Join(strings.Fields(text), " ")
}

// reason returns the message of an error without the path of the file, which may be a secret in the wrong variable.
func reason(err error) string { return cmp.Or(errors.Unwrap(err), err).Error() }

// A decoder decodes a file of its format in place of the decoders of viper, which ignore a second document of YAML and
// repeated keys of JSON.
type decoder string

// Decoder implements viper.DecoderRegistry.
func (decoder) Decoder(format string) (viper.Decoder, error) { return decoder(format), nil }

// Decode implements viper.Decoder.
func (d decoder) Decode(text []byte, settings map[string]any) (err error) {
	switch d {
	case "yaml", "yml":
		documents := yaml.NewDecoder(bytes.NewReader(text))
		if err = documents.Decode(&settings); err == nil && !errors.Is(documents.Decode(new(any)), io.EOF) {
			err = errors.New("there must be one document")
		}
	case "toml":
		err = toml.Unmarshal(text, &settings)
	case "json":
		err = json.Unmarshal(text, &settings)
	default:
		err = viper.UnsupportedConfigError(d)
	}
	if err != nil && !errors.Is(err, io.EOF) { // of an empty file
		return err
	}
	return checkKeys("", settings, map[string]bool{})
}

// checkKeys returns an error for keys that viper takes as the same, of which it would ignore one.
func checkKeys(prefix string, settings map[string]any, written map[string]bool) error {
	for name, value := range settings {
		key := strings.ToLower(prefix + name)
		section, _ := value.(map[string]any)
		if written[key] {
			return fmt.Errorf("the key %q is written twice", key)
		}
		written[key] = true
		if err := checkKeys(key+".", section, written); err != nil {
			return err
		}
	}
	return nil
}

// notSettings matches the variables of the tests, and those that Kubernetes sets for services such as petstore and
// petstore-admin.
var notSettings = regexp.MustCompile(`^PETSTORE_(TEST_|([A-Z0-9_]+_)?(SERVICE_HOST=|SERVICE_PORT[=_]|PORT=[a-z]+://|PORT_[0-9]+_))`)

// readEnvironment binds the settings to their variables, reads the files of secrets and reports unknown variables.
func (l *loader) readEnvironment() {
	l.SetEnvPrefix(envPrefix)
	l.SetEnvKeyReplacer(envKeys)
	l.AllowEmptyEnv(true)
	known := []string{envConfig}
	for _, s := range settings {
		l.MustBindEnv(s.key)
		known = append(known, s.variable)
		if _, set := os.LookupEnv(s.variable); set {
			l.sources[s.key] = s.variable
		}
		if s.secret {
			known = append(known, s.variable+"_FILE")
			l.readSecret(s, s.variable+"_FILE")
		}
	}
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, envPrefix+"_") && !slices.Contains(known, name) && !notSettings.MatchString(entry) {
			l.report(name, unknown(name, known))
		}
	}
}

// readSecret sets a secret to the content of the file that a variable names, if it is set.
func (l *loader) readSecret(s *setting, variable string) {
	path, ok := os.LookupEnv(variable)
	if !ok {
		return
	}
	content, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	text, both := strings.TrimRight(string(content), "\r\n"), l.sources[s.key] != ""
	l.Set(s.key, text)
	l.sources[s.key] = variable
	switch {
	case both:
		l.reject(s, text, "set either "+s.variable+" or "+variable)
	case err != nil:
		l.reject(s, text, "must name a file that can be read: "+reason(err))
	case text == "":
		l.reject(s, text, "must name a file that is not empty")
	}
}

// reportUnknown reports an unknown key, escaped because it may be any text of a file, and not its value, which may be a
// secret.
func (l *loader) reportUnknown(key, source string) {
	l.report(strings.Trim(strconv.Quote(key), `"`)+" ("+source+")", unknown(key, keys))
}

// unknown says what there is instead of a key or a variable: one that differs in few characters, or those that begin alike.
func unknown(name string, known []string) string {
	for edits := range 4 {
		for _, other := range known {
			if isNear(strings.ToLower(name), strings.ToLower(other), edits) {
				return "no such setting; did you mean " + other + "?"
			}
		}
	}
	begin := firstWord.FindString(name)
	alike := slices.DeleteFunc(slices.Clone(known), func(other string) bool { return firstWord.FindString(other) != begin })
	if len(alike) == 0 {
		return "no such section; there are " + strings.Join(sections, ", ")
	}
	return "no such setting; there are " + strings.Join(alike, ", ")
}

var firstWord = regexp.MustCompile(`^(PETSTORE_)?[^._]*`)

// isNear reports whether a becomes b by at most so many edits, each of which adds, removes or replaces a character.
func isNear(a, b string, edits int) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	switch {
	case a == b || edits == 0:
		return a == b
	case a == "" || b == "":
		return len(a)+len(b) <= edits
	}
	return isNear(a[1:], b, edits-1) || isNear(a, b[1:], edits-1) || isNear(a[1:], b[1:], edits-1)
}
