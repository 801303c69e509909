package config

import (
	"errors"
	"io/fs"
	"os"
	"regexp"
	"strings"
)

const (
	envPrefix  = "PETSTORE_"
	fileSuffix = "_FILE"
)

// kubernetes matches what a cluster puts into every container for a service called petstore-admin, petstore-api and
// so on, which nobody wrote and which must not stop the store.
var kubernetes = regexp.MustCompile(`^PETSTORE_([A-Z0-9_]+_)?(SERVICE_HOST=|SERVICE_PORT[=_]|PORT=[a-z]+://|PORT_[0-9]+_)`)

// readEnvironment takes the variables itself, because viper's own binding skips empty ones and cannot tell that a
// name is mistyped.
func (l *loader) readEnvironment(environ []string) {
	values := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, envPrefix) && !kubernetes.MatchString(entry) {
			values[name] = value
		}
	}
	for _, s := range l.settings {
		name := s.env()
		value, ok := values[name]
		if ok {
			l.override(s.key, value, name)
		}
		delete(values, name)
		if path, named := values[name+fileSuffix]; s.secret && named {
			l.readSecret(s, path, ok)
			delete(values, name+fileSuffix)
		}
	}
	for name := range values {
		l.unknown(l.keyOf(name), name)
	}
}

// keyOf is the key that the name of a variable would stand for.
func (l *loader) keyOf(name string) string {
	key := strings.ToLower(strings.TrimPrefix(name, envPrefix))
	for _, section := range l.sections() {
		if rest, ok := strings.CutPrefix(key, section+"_"); ok {
			return section + "." + rest
		}
	}
	return key
}

// readSecret takes a value from the file at path. The path is not told in faults, since the secret itself may have
// been written in its place.
func (l *loader) readSecret(s setting, path string, alsoPlain bool) {
	name := s.env() + fileSuffix
	if alsoPlain {
		l.reject(s.key, hidden, name, "set either "+s.env()+" or "+name)
		return
	}
	text, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		l.reject(s.key, hidden, name, wantReadable+reason(err))
		return
	}
	l.override(s.key, strings.TrimRight(string(text), "\r\n"), name)
}

// reason is what an error of the file system says without the path.
func reason(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err.Error()
	}
	return err.Error()
}
