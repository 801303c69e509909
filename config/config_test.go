package config

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

func TestExampleFileHoldsTheDefaults(t *testing.T) {
	t.Parallel()
	wantDefaults(t, Options{File: "petstore.example.yaml"})
}

func TestExampleFileDescribesEverySettingInOrder(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("petstore.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	var got []string
	for section := range slices.Chunk(document.Content[0].Content, 2) {
		commented := 0 // the last line that belongs to a comment: no blank line precedes it
		for pair := range slices.Chunk(section[1].Content, 2) {
			key := section[0].Value + "." + pair[0].Value
			got = append(got, key)
			if pair[0].HeadComment == "" && pair[0].Line != commented+1 {
				t.Errorf("%s has no comment", key)
			}
			commented = pair[0].Line
		}
	}
	if diff := cmp.Diff(Keys(), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
