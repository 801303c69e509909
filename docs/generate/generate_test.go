package main

import (
	"bytes"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
)

func TestCommittedDocumentIsUpToDate(t *testing.T) {
	t.Parallel()
	want, err := generate("../..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/openapi.json differs from the annotations: run make docs")
	}
}

func TestGenerateIsDeterministic(t *testing.T) {
	t.Parallel()
	root := writeSources(t, "", "")
	first, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if again, err := generate(root); err != nil || !bytes.Equal(first, again) {
			t.Fatalf("generate again: got another document or the error %v", err)
		}
	}
}

func TestOperationsHaveImpliedAndAnnotatedFailures(t *testing.T) {
	t.Parallel()
	doc := load(t, writeSources(t, "", ""))
	for operation, want := range map[string][]string{
		"GET /pets":         {"200", "304", "400 invalid_parameter", "401 invalid_api_key", "401 missing_api_key", "403 forbidden", "429 rate_limited", "500 internal_error", "503 unavailable"},
		"GET /pets/{petId}": {"200", "401 invalid_api_key", "401 missing_api_key", "403 forbidden", "404 pet_not_found", "410 operation_removed", "429 rate_limited", "500 internal_error", "503 unavailable"},
		"POST /pets": {
			"201", "400 invalid_idempotency_key", "400 invalid_json", "400 validation_failed", "401 invalid_api_key", "401 missing_api_key",
			"403 forbidden", "408 request_timeout", "409 idempotency_in_progress", "409 pet_not_available", "413 body_too_large",
			"415 unsupported_media_type", "422 idempotency_key_reused", "429 rate_limited", "500 internal_error", "503 unavailable",
		},
	} {
		method, path, _ := strings.Cut(operation, " ")
		var got []string
		for status, response := range sorted(doc.Paths.Value(path).GetOperation(method).Responses.Map()) {
			if status < "400" {
				got = append(got, status)
				continue
			}
			examples := response.Value.Content[jsonType].Examples
			for code, example := range sorted(examples) {
				got = append(got, status+" "+code)
				if body := example.Value.Value.(map[string]any); body["code"] != code || body["message"] == "" {
					t.Errorf("%s: got the example %v, want one of %s with a message", operation, body, code)
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: responses (-want +got):\n%s", operation, diff)
		}
	}
}

func TestAnnotatedHeadersAreKept(t *testing.T) {
	t.Parallel()
	responses := load(t, writeSources(t, "", "")).Paths.Value("/pets").Post.Responses
	for status, name := range map[string]string{"201": "Location", "409": "X-Custom"} {
		if responses.Value(status).Value.Headers[name] == nil {
			t.Errorf("%s has no header %s", status, name)
		}
	}
}

func TestSharedDefinitionsAreReferenced(t *testing.T) {
	t.Parallel()
	doc := load(t, writeSources(t, "", ""))
	got := map[string]string{
		"typed field":  doc.Components.Schemas["NewPet"].Value.Properties["status"].Ref,
		"inline field": doc.Components.Schemas["Pet"].Value.Properties["status"].Ref,
		"parameter":    doc.Paths.Value("/pets").Get.Parameters.GetByInAndName("query", "status").Schema.Ref,
		"list":         doc.Paths.Value("/pets").Get.Responses.Value("200").Value.Content[jsonType].Schema.Ref,
		"header":       doc.Paths.Value("/pets/{petId}").Get.Responses.Value("401").Value.Headers["Sunset"].Ref,
		"request id":   doc.Paths.Value("/pets").Post.Responses.Value("413").Value.Headers["X-Request-Id"].Ref,
		"key":          doc.Paths.Value("/pets").Post.Parameters[0].Ref,
	}
	want := map[string]string{
		"typed field":  "#/components/schemas/PetStatus",
		"inline field": "#/components/schemas/PetStatus",
		"parameter":    "#/components/schemas/PetStatus",
		"list":         "#/components/schemas/Pets",
		"header":       "#/components/headers/Sunset",
		"request id":   "#/components/headers/X-Request-Id",
		"key":          "#/components/parameters/Idempotency-Key",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
	names := slices.Sorted(maps.Keys(doc.Components.Schemas))
	if diff := cmp.Diff([]string{"Error", "NewPet", "Pet", "PetStatus", "Pets"}, names); diff != "" {
		t.Errorf("schemas (-want +got):\n%s", diff)
	}
}

func TestDocumentHasNothingOfSwagger2(t *testing.T) {
	t.Parallel()
	document, err := generate(writeSources(t, "", ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, leftover := range []string{"x-originalParamName", "x-enum-", "allOf", "definitions", "consumes", "domain.", `\u003c`} {
		if bytes.Contains(document, []byte(leftover)) {
			t.Errorf("the document contains %s", leftover)
		}
	}
}

func TestInfoIsComplete(t *testing.T) {
	t.Parallel()
	doc := load(t, writeSources(t, "", ""))
	got := map[string]string{
		"licence": doc.Info.License.URL,
		"contact": doc.Info.Contact.Name,
	}
	want := map[string]string{
		"licence": "https://spdx.org/licenses/MIT.html",
		"contact": "The operator who issued your API key",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPathParameterHasExampleOfRecord(t *testing.T) {
	t.Parallel()
	doc := load(t, writeSources(t, "", ""))
	if got := doc.Paths.Value("/pets/{petId}").Get.Parameters[0].Value.Example; got != 7.0 {
		t.Errorf("got the example %v of petId, want 7", got)
	}
}

func TestLengthLimitIsInDescriptionOnly(t *testing.T) {
	t.Parallel()
	name := load(t, writeSources(t, "", "")).Components.Schemas["NewPet"].Value.Properties["name"].Value
	if name.MaxLength != nil || name.MinLength != 0 || name.Description != "Not blank. 1 to 200 characters." {
		t.Errorf("got the limits %d and %v and the description %q, want the limits in the description only", name.MinLength, name.MaxLength, name.Description)
	}
}

// The pattern cannot exclude the noncharacters above U+FFFF.
func TestNamePatternMatchesValidNames(t *testing.T) {
	t.Parallel()
	name := load(t, "../..").Components.Schemas["NewPet"].Value.Properties["name"].Value
	for r := range unicode.MaxRune + 1 {
		if !utf8.ValidRune(r) || r > 0xffff && domain.IsNoncharacter(r) {
			continue
		}
		for _, text := range []string{string(r), "a" + string(r), string(r) + "a"} {
			if matches := name.VisitJSON(text) == nil; matches != domain.ValidPetName(text) {
				t.Errorf("%q: the pattern matches: %t, the name is valid: %t", text, matches, !matches)
			}
		}
	}
	for _, text := range []string{"", "  ", " \u3000", " a ", "a b", "\ufeff"} {
		if matches := name.VisitJSON(text) == nil; matches != domain.ValidPetName(text) {
			t.Errorf("%q: the pattern matches: %t, the name is valid: %t", text, matches, !matches)
		}
	}
}

func TestGenerateRejectsInvalidAnnotations(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, replacement, want string }{
		"unknown code":                {`"pet_not_found"`, `"no_pet"`, "not in the list of codes"},
		"code with other status":      {`404	{object}`, `400	{object}`, "pet_not_found has the status 404"},
		"no id":                       {`@ID			createPet`, ``, "POST /pets: @ID is missing"},
		"no summary":                  {`@Summary	Add an animal`, ``, "POST /pets: @Summary is missing"},
		"no description":              {`@Description	It is durable`, ``, "POST /pets: @Description is missing"},
		"no tag":                      {`@Tags		Pets`, ``, "@Tags must name one tag"},
		"undescribed tag":             {`@tag.description	Animals`, ``, "tag Pets is not described"},
		"misspelt annotation":         {`@Failure`, `@Failyre`, "@Failyre is unknown"},
		"no route":                    {`@Router		/pets [post]`, ``, "without @Router"},
		"annotations without handler": {"func (api) createPet() {}", "", "does not precede a function"},
		"header before response":      {`@Param		petId`, "@Header	404 {string} Link \"x\"\n//	@Param		petId", "precedes its response"},
		"route twice":                 {`/pets [post]`, `/pets [get]`, "declared multiple times"},
		"id twice":                    {`@ID			createPet`, `@ID			listPets`, "listPets"},
		"unpublished type name":       {`} // @name Pet`, `}`, "needs a published name"},
		"other values than type's":    {`enums:"available,pending,sold"`, `enums:"old,new"`, "the tag enums has [old new]"},
		"values of no type":           {`omitzero" enums:"available,pending,sold"`, `omitzero" enums:"old,new"`, "no type of domain has the values [old new]"},
		"no schema Error":             {`} // @name Error`, `} // @name Problem`, "schema Error"},
		"no base path":                {`@BasePath	/v1`, ``, "@BasePath is missing"},
		"parameter not in path":       {`/pets/{petId}`, `/pets/{id}`, "petId"},
		"example of another type":     {`example:"Rex"`, `example:"Rex" maxLength:"2"`, "validate the document"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := generate(writeSources(t, c.old, c.replacement))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got the error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestRunRejectsWrongDirectory(t *testing.T) {
	t.Parallel()
	if err := run(t.TempDir()); err == nil || !strings.Contains(err.Error(), "root of the repository") {
		t.Errorf("got %v, want an error with root of the repository", err)
	}
}

// writeSources writes the sources of a small annotated service, with the first old replaced,
// and returns their root.
func writeSources(t *testing.T, old, replacement string) string {
	t.Helper()
	source, err := os.ReadFile("testdata/handlers.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(source), old) {
		t.Fatalf("testdata/handlers.go has no %q", old)
	}
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                             "module example.com/store\n",
		"domain/pets.go":                     petStatuses,
		"delivery/internal/record/record.go": "package record\n",
		"delivery/http/doc.go":               strings.Replace(string(source), old, replacement, 1),
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// petStatuses is the source of a type that the handlers name.
const petStatuses = `package domain

type PetStatus string

const (
	PetAvailable PetStatus = "available"
	PetPending   PetStatus = "pending"
	PetSold      PetStatus = "sold"
)
`

// load returns the document of the sources at root.
func load(t *testing.T, root string) *openapi3.T {
	t.Helper()
	document, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestDeprecatedOperationHasItsDateOfRemoval(t *testing.T) {
	t.Parallel()
	doc := load(t, writeSources(t, "", ""))
	const removal = "Deprecated. The operation is removed on 5 December 2030 (see the headers Deprecation and Sunset); from then on the response is 410. "
	for path, want := range map[string]string{"/pets/{petId}": removal + "As it is now", "/pets": "In ascending order of id"} {
		if got := doc.Paths.Value(path).Get.Description; got != want {
			t.Errorf("GET %s: got the description %q, want %q", path, got, want)
		}
	}
}

func TestForbiddenResponseIsThatOfAReadOnlyKeyUnlessTheOperationReads(t *testing.T) {
	t.Parallel()
	for method, op := range load(t, writeSources(t, "", "")).Paths.Value("/pets").Operations() {
		response := op.Responses.Value("403").Value
		message := response.Content[jsonType].Examples["forbidden"].Value.Value.(map[string]any)["message"].(string)
		writes := method == http.MethodPost
		if strings.Contains(message, "--read-only") != writes || (response.Headers["WWW-Authenticate"] != nil) != writes {
			t.Errorf("%s /pets: got the message %q and the headers %v of a 403", method, message, slices.Sorted(maps.Keys(response.Headers)))
		}
	}
}
