package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parseFile returns the root of a YAML file: a mapping, or an empty node if there is none.
func parseFile(path string) (*yaml.Node, error) {
	empty := &yaml.Node{}
	if path == "" {
		return empty, nil
	}
	if ext := strings.ToLower(filepath.Ext(path)); ext != ".yaml" && ext != ".yml" {
		return empty, errors.New("must be a YAML file with a name that ends in .yaml or .yml")
	}
	text, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return empty, errors.New("cannot be read: " + reason(err))
	}
	var document, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err = decoder.Decode(&document); err == nil {
		err = decoder.Decode(&second)
	}
	switch {
	case err == nil:
		return empty, fmt.Errorf("must hold one document; a second one begins in line %d", second.Line)
	case !errors.Is(err, io.EOF):
		return empty, errors.New("is not valid YAML: " + strings.TrimPrefix(err.Error(), "yaml: "))
	case document.Kind == 0 || document.Content[0].ShortTag() == "!!null":
		return empty, nil
	case document.Content[0].Kind != yaml.MappingNode:
		return empty, errors.New("must hold sections such as server: with their settings below, indented")
	}
	return document.Content[0], nil
}

// readMapping reads the settings of a mapping, whose keys begin with prefix. lines has the lines of the keys before it.
// The reader of viper is not used: it converts types, ignores case and has no line numbers.
func (l *loader) readMapping(path, prefix string, mapping *yaml.Node, lines map[string]int) {
	for pair := range slices.Chunk(mapping.Content, 2) {
		key, node := prefix+pair[0].Value, cmp.Or(pair[1].Alias, pair[1])
		source := fmt.Sprintf("%s:%d", path, pair[0].Line)
		line, repeated := lines[key]
		lines[key] = pair[0].Line
		switch s := byKey[key]; {
		case repeated:
			l.report(key, "", source, fmt.Sprintf("is written twice; the other is in line %d", line))
		case s != nil:
			_ = l.values.MergeConfigMap(map[string]any{key: Value{key, l.textOf(s, node, source), source}}) // returns no error
		case !slices.Contains(sections, key):
			l.reportUnknown(key, source)
		case node.Kind == yaml.MappingNode:
			l.readMapping(path, key+".", node, lines)
		case node.ShortTag() != "!!null":
			l.report(key, "", source, "is a section: write its settings below it, indented")
		}
	}
}

// textOf returns a value as text. It reports a value whose YAML type the setting does not allow.
func (l *loader) textOf(s *setting, node *yaml.Node, source string) string {
	format := formats[s.Type]
	switch {
	case node.ShortTag() == "!!null":
		l.report(s.key, "", source, "has no value; write one, or leave the setting out")
	case !slices.Contains(strings.Fields(format.yaml), node.ShortTag()):
		l.report(s.key, s.quoteNode(node), source, format.remedy)
	case node.Kind == yaml.SequenceNode:
		var list []string
		for _, element := range node.Content {
			element = cmp.Or(element.Alias, element)
			list = append(list, element.Value)
			if element.ShortTag() != "!!str" || element.Value == "" || strings.Contains(element.Value, ",") {
				l.report(s.key, s.quoteNode(element), source, format.remedy)
			}
		}
		return strings.Join(list, ",")
	}
	return node.Value
}

// quoteNode returns a value for a message as it was written. Only texts are quoted.
func (s *setting) quoteNode(node *yaml.Node) string {
	quoted := s.quote(node.Value)
	return cmp.Or(map[string]string{"!!str": quoted, "!!seq": "a list", "!!map": "a section"}[node.ShortTag()], strings.Trim(quoted, `"`))
}

// notSettings matches the variables of the tests, and those that Kubernetes sets for services such as petstore and
// petstore-admin.
var notSettings = regexp.MustCompile(`^PETSTORE_(TEST_|([A-Z0-9_]+_)?(SERVICE_HOST=|SERVICE_PORT[=_]|PORT=[a-z]+://|PORT_[0-9]+_))`)

// readEnvironment reads the environment. Viper reads only that of the process, and does not report unknown names.
func (l *loader) readEnvironment(environ []string) {
	variables := map[string]string{}
	for _, entry := range environ {
		name, text, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "PETSTORE_") && !notSettings.MatchString(entry) {
			variables[name] = text
		}
	}
	for _, s := range settings {
		name := "PETSTORE_" + strings.ToUpper(strings.ReplaceAll(s.key, ".", "_"))
		text, set := variables[name]
		if set {
			l.values.Set(s.key, Value{s.key, text, name})
			delete(variables, name)
		}
		if path, ok := variables[name+"_FILE"]; ok && s.Tag.Get("secret") == "true" {
			content, err := os.ReadFile(path) //nolint:gosec // the operator names the file
			text := strings.TrimRight(string(content), "\r\n")
			l.values.Set(s.key, Value{s.key, text, name + "_FILE"})
			switch {
			case set:
				l.reject(s, "", "set either "+name+" or "+name+"_FILE")
			case err != nil:
				l.reject(s, "", "must name a file that can be read: "+reason(err))
			case text == "":
				l.reject(s, "", "must name a file that is not empty")
			}
			delete(variables, name+"_FILE")
		}
	}
	for name := range variables {
		l.reportUnknown(strings.ToLower(strings.TrimPrefix(name, "PETSTORE_")), name)
	}
}

// reason returns the message of an error without the path of the file, which may be a secret in the wrong variable.
func reason(err error) string { return cmp.Or(errors.Unwrap(err), err).Error() }
