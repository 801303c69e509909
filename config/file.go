package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// file is the YAML file being read into viper. It is walked node by node, because viper's own reader turns a number
// into whatever is asked for, folds the case of keys, keeps no line, and passes over a second document.
type file struct {
	*loader
	path  string
	lines map[string]int // by key, where it was written first
}

func (l *loader) readFile(path string) {
	if path == "" {
		return
	}
	f := file{loader: l, path: path, lines: map[string]int{}}
	root, err := parse(path)
	if err != nil {
		l.fault("", "", path, err.Error())
		return
	}
	f.walk("", root)
}

// parse returns the mapping at the top of the file; that of an empty file has no content.
func parse(path string) (*yaml.Node, error) {
	if ext := strings.ToLower(filepath.Ext(path)); ext != ".yaml" && ext != ".yml" {
		return nil, errors.New("must be a YAML file with a name that ends in .yaml or .yml")
	}
	text, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, errors.New("cannot be read: " + reason(err))
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, second yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return &yaml.Node{}, nil
	} else if err != nil {
		return nil, malformed(err)
	}
	if err := decoder.Decode(&second); err == nil {
		return nil, fmt.Errorf("must hold one document; a second one begins in line %d", second.Line)
	} else if !errors.Is(err, io.EOF) {
		return nil, malformed(err)
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode && root.ShortTag() != "!!null" {
		return nil, errors.New("must hold sections such as server: with their settings below, indented")
	}
	return root, nil
}

func malformed(err error) error {
	return errors.New("is not valid YAML: " + strings.TrimPrefix(err.Error(), "yaml: "))
}

// walk takes the settings of a mapping, whose keys begin with prefix.
func (f *file) walk(prefix string, mapping *yaml.Node) {
	for pair := range slices.Chunk(mapping.Content, 2) {
		key, value := prefix+pair[0].Value, target(pair[1])
		source := fmt.Sprintf("%s:%d", f.path, pair[0].Line)
		s, known := f.find(key)
		first, twice := f.lines[key]
		f.lines[key] = pair[0].Line
		switch {
		case twice:
			f.fault(key, "", source, fmt.Sprintf("is written twice; the other is in line %d", first))
		case known:
			f.take(s, value, source)
		case !slices.Contains(f.sections(), key):
			f.unknown(key, source)
		case value.Kind == yaml.MappingNode:
			f.walk(key+".", value)
		case value.ShortTag() != "!!null":
			f.fault(key, "", source, "is a section: write its settings below it, indented")
		}
	}
}

// take puts a value into viper's layer for files if it has the YAML type that the setting asks for.
func (f *file) take(s setting, node *yaml.Node, source string) {
	tags, words := s.form()
	if node.ShortTag() == "!!null" {
		f.reject(s.key, "", source, "has no value; write one, or leave the setting out")
		return
	}
	if !slices.Contains(strings.Fields(tags), node.ShortTag()) {
		f.reject(s.key, showNode(s, node), source, words)
		return
	}
	var value any = node.Value
	if node.Kind == yaml.SequenceNode {
		var list []string
		for _, element := range node.Content {
			element = target(element)
			if element.ShortTag() != "!!str" {
				f.reject(s.key, showNode(s, element), source, words)
				return
			}
			list = append(list, element.Value)
		}
		value = list
	}
	f.sources[s.key] = source
	section, name, _ := strings.Cut(s.key, ".")
	_ = f.layers.MergeConfigMap(map[string]any{section: map[string]any{name: value}})
}

// target is the node that an alias stands for, or the node itself.
func target(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// showNode tells a value of any type as it was written: only texts are quoted.
func showNode(s setting, node *yaml.Node) string {
	shown := s.show(node.Value)
	switch {
	case node.Kind == yaml.MappingNode:
		return "a section"
	case node.Kind == yaml.SequenceNode:
		return "a list"
	case node.ShortTag() == "!!str":
		return shown
	default:
		return strings.Trim(shown, `"`)
	}
}
