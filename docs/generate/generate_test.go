package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/domain"
)

// Each generated document must equal the document in the repository, so that a review shows what changes in
// it.
func TestCommittedDocumentIsUpToDate(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("../openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if got, err := generate("../.."); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("docs/openapi.json differs from the annotations, or generate returned the error %v: run make docs", err)
		}
	}
}

// The pattern cannot exclude characters above U+FFFF.
func TestNamePatternMatchesValidNames(t *testing.T) {
	t.Parallel()
	name := load(t).Components.Schemas["NewPet"].Value.Properties["name"].Value
	texts := []string{"", "  ", " \u3000", " a ", "a b", "\ufeff"}
	for r := range unicode.MaxRune + 1 {
		if utf8.ValidRune(r) && (r <= 0xffff || domain.ValidPetName(string(r))) {
			texts = append(texts, string(r), "a"+string(r), string(r)+"a")
		}
	}
	for _, text := range texts {
		if matches := name.VisitJSON(text) == nil; matches != domain.ValidPetName(text) {
			t.Errorf("%q: the pattern matches: %t, the name is valid: %t", text, matches, !matches)
		}
	}
}

// What generators would otherwise get wrong: the type of the stream, an error without a type, sets instead of lists, a string instead of an enum.
func TestDocumentSaysWhatGeneratorsNeed(t *testing.T) {
	t.Parallel()
	doc := load(t)
	if doc.Paths.Value("/changes").Get.Responses.Status(http.StatusOK).Value.Content["text/event-stream"] == nil {
		t.Error("listChanges has no text/event-stream")
	}
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			other := operation.Responses.Default()
			if other == nil || other.Value.Content["application/json"].Schema.Ref != "#/components/schemas/Error" {
				t.Errorf("%s %s: the response default is not an Error", method, path)
			}
			for _, parameter := range operation.Parameters {
				if parameter.Value.Schema.Value.UniqueItems {
					t.Errorf("%s %s: %s is a set", method, path, parameter.Value.Name)
				}
			}
		}
	}
	status := doc.Components.Schemas["PetPatch"].Value.Properties["status"].Value
	for value, valid := range map[any]bool{nil: true, "sold": true, "lost": false} {
		if err := status.VisitJSON(value); (err == nil) != valid || len(status.Enum) == 0 {
			t.Errorf("the status %v of a correction: got %v, want valid: %t, by an enum", value, err, valid)
		}
	}
}

func TestGenerateRejectsInvalidAnnotations(t *testing.T) {
	t.Parallel()
	const (
		pets, doc, errorsFile = "delivery/http/pets.go", "delivery/http/doc.go", "delivery/http/errors.go"
		record, overlayFile   = "internal/record/record.go", "docs/generate/overlay.yaml"
	)
	for name, c := range map[string]struct{ file, old, replacement, want string }{
		"unknown code": {file: pets, old: `"pet_not_found"`, replacement: `"no_pet"`, want: "not in the list of codes"},
		"code with other status": {
			file:        pets,
			old:         "404		{object}",
			replacement: "408		{object}",
			want:        "pet_not_found has the status 404",
		},
		"no id":      {file: pets, old: `@ID				createPet`, want: "POST /pets: @ID is missing"},
		"no summary": {file: pets, old: `@Summary		Add an animal`, want: "POST /pets: @Summary is missing"},
		"no description": {
			file:        pets,
			old:         `@Description	Returns how many`,
			replacement: `@ID getInventory`,
			want:        "GET /store/inventory: @Description is missing",
		},
		"no tag": {file: pets, old: `@Tags			Pets`, want: "@Tags must name one tag"},
		"undescribed tag": {
			file:        doc,
			old:         `@tag.description	The catalogue`,
			replacement: `@tag.name The catalogue`,
			want:        "@Tags must name one tag that doc.go describes",
		},
		"misspelt annotation":        {file: pets, old: `@Failure`, replacement: `@Failyre`, want: "@Failyre is unknown"},
		"header outside the overlay": {file: pets, old: `@Failure`, replacement: `@Header`, want: "@Header is unknown"},
		"route twice":                {file: pets, old: `/pets [post]`, replacement: `/pets [get]`, want: "declared multiple times"},
		"id twice":                   {file: pets, old: `@ID				createPet`, replacement: `@ID				listPets`, want: "listPets"},
		"unpublished type name":      {file: record, old: "} // @name Pet\n", replacement: "}\n", want: "needs a published name"},
		"other values than type's": {
			file:        record,
			old:         `json:"status,omitzero"`,
			replacement: `json:"status,omitzero" enums:"old,new"`,
			want:        "no schema has the values [old new]",
		},
		"no schema Error": {
			file:        errorsFile,
			old:         `} // @name Error`,
			replacement: `} // @name Problem`,
			want:        "components.schemas.Error",
		},
		"parameter not in path": {file: pets, old: `/pets/{petId} [get]`, replacement: `/pets/{id} [get]`, want: "petId"},
		"example of another type": {
			file:        record,
			old:         `example:"Rex"`,
			replacement: `example:"Rex" maxLength:"2"`,
			want:        "validate the document",
		},
		"target that selects nothing": {file: overlayFile, old: `['/store/orders'].post`, replacement: `['/store/orderz'].post`, want: "orderz"},
		"update without a change": {
			file:        overlayFile,
			old:         "\nactions:\n",
			replacement: "\nactions:\n  - { target: $.info, update: { version: 1.0.0 } }\n",
			want:        "overlay.yaml: update action (1 / ",
		},
		"two responses of one name": {
			file:        overlayFile,
			old:         `.*.*.responses['401', '403']`,
			replacement: `.*.get.responses['401', '403']`,
			want:        "two components are responses/",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := generate(copySources(t, c.file, c.old, c.replacement))
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "nil") {
				t.Errorf("got the error %v, want one with %q", err, c.want)
			}
		})
	}
}

// copySources copies the files from which the document is generated, and replaces the first old in a file.
// It returns the root of the copy.
func copySources(t *testing.T, file, old, replacement string) string {
	t.Helper()
	root := t.TempDir()
	for _, folder := range []string{"docs/generate", "delivery/http", "internal/record", "domain"} {
		if err := os.CopyFS(filepath.Join(root, folder), os.DirFS("../../"+folder)); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil || !strings.Contains(string(text), old) {
		t.Fatalf("%s has no %q: %v", file, old, err)
	}
	for path, text := range map[string]string{"go.mod": "module example.com/petstore\n", file: strings.Replace(string(text), old, replacement, 1)} {
		if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func load(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromFile("../openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestDeprecatedOperationHasItsDates(t *testing.T) {
	t.Parallel()
	doc := load(t)
	get := doc.Paths.Value("/pets/{petId}").Get
	example := get.Responses.Value("410").Value.Content["application/json"].Examples["operation_removed"].Value.Value
	removed := example.(map[string]any)["message"].(string)
	for text, want := range map[string]string{
		get.Description: "removed on " + domain.GetPetSunset.Format("2 January 2006") + " ",
		removed:         "removed on " + domain.GetPetSunset.Format(time.DateOnly) + ":",
		doc.Components.Headers["Sunset"].Value.Example.(string):      domain.GetPetSunset.Format(http.TimeFormat),
		doc.Components.Headers["Deprecation"].Value.Example.(string): fmt.Sprintf("@%d", domain.GetPetDeprecation.Unix()),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got %q, want one with %q", text, want)
		}
	}
}
