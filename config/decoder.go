package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"
)

var errFormat = errors.New("its name must end in .yaml, .yml, .toml or .json")

// decoders implements viper.DecoderRegistry. Its decoders reject a file in which a key occurs twice.
type decoders struct{ *viper.DefaultCodecRegistry }

func (d decoders) Decoder(format string) (viper.Decoder, error) {
	switch format {
	case "json":
		return decoder(func(text []byte, values map[string]any) error { return json.Unmarshal(text, &values) }), nil
	case "yaml", "yml":
		return decoder(decodeYAML), nil
	case "toml":
		codec, err := d.DefaultCodecRegistry.Decoder(format)
		return decoder(codec.Decode), err
	}
	return nil, errFormat
}

// decodeYAML returns an error for a file with more than one document. Viper would ignore all but the first.
func decodeYAML(text []byte, values map[string]any) error {
	documents := yaml.NewDecoder(bytes.NewReader(text))
	err := documents.Decode(&values)
	if err == nil {
		err = documents.Decode(&yaml.Node{})
		if err == nil {
			return errors.New("it has a second document: remove the line --- before it")
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

type decoder func(text []byte, values map[string]any) error

// Decode implements viper.Decoder. It returns an error for keys that differ only in upper and lower case: Viper would use
// an arbitrary one.
func (d decoder) Decode(text []byte, values map[string]any) error {
	if err := d(text, values); err != nil {
		return err
	}
	count := map[string]int{}
	countKeys(count, values, "")
	maps.DeleteFunc(count, func(_ string, n int) bool { return n == 1 })
	if len(count) > 0 {
		twice := slices.Sorted(maps.Keys(count))
		return fmt.Errorf("%s is there more than once, since upper and lower case are the same: keep one", nameOf(twice[0]))
	}
	return nil
}

// countKeys counts how often each key occurs, in lower case as viper compares keys. The key of a setting includes the key
// of its section.
func countKeys(count map[string]int, values map[string]any, section string) {
	for key, value := range values {
		key = strings.ToLower(section + key)
		count[key]++
		if values, ok := value.(map[string]any); ok {
			countKeys(count, values, key+".")
		}
	}
}
