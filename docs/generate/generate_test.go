package main

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
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
	first, err := generate("../..")
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if again, err := generate("../.."); err != nil || !bytes.Equal(first, again) {
			t.Fatalf("generate again: got another document or the error %v", err)
		}
	}
}

func TestOperationsHaveAnnotatedFailures(t *testing.T) {
	t.Parallel()
	doc := load(t)
	for operation, want := range map[string][]string{
		"GET /pets":         {"200", "304", "400 invalid_parameter", "401 invalid_api_key", "401 missing_api_key", "403 forbidden", "429 rate_limited", "500 internal_error", "503 unavailable"},
		"GET /pets/{petId}": {"200", "401 invalid_api_key", "401 missing_api_key", "403 forbidden", "404 pet_not_found", "410 operation_removed", "429 rate_limited", "500 internal_error", "503 unavailable"},
		"POST /pets": {
			"201", "400 invalid_idempotency_key", "400 invalid_json", "400 validation_failed", "401 invalid_api_key", "401 missing_api_key",
			"403 forbidden", "408 request_timeout", "409 idempotency_in_progress", "413 body_too_large",
			"415 unsupported_media_type", "422 idempotency_key_reused", "429 rate_limited", "500 internal_error", "503 unavailable",
		},
	} {
		method, path, _ := strings.Cut(operation, " ")
		var got []string
		responses := doc.Paths.Value(path).GetOperation(method).Responses
		for _, status := range slices.Sorted(maps.Keys(responses.Map())) {
			if status < "400" {
				got = append(got, status)
				continue
			}
			examples := responses.Value(status).Value.Content[jsonType].Examples
			for _, code := range slices.Sorted(maps.Keys(examples)) {
				example := examples[code]
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

func TestSharedDefinitionsAreReferenced(t *testing.T) {
	t.Parallel()
	doc := load(t)
	got := map[string]string{
		"optional field": doc.Components.Schemas["NewPet"].Value.Properties["status"].Ref,
		"field":          doc.Components.Schemas["Pet"].Value.Properties["status"].Ref,
		"parameter":      doc.Paths.Value("/pets").Get.Parameters.GetByInAndName("query", "status").Schema.Ref,
		"list":           doc.Paths.Value("/pets").Get.Responses.Value("200").Value.Content[jsonType].Schema.Ref,
		"header":         doc.Paths.Value("/pets/{petId}").Get.Responses.Value("401").Value.Headers["Sunset"].Ref,
		"request id":     doc.Paths.Value("/pets").Post.Responses.Value("413").Value.Headers["X-Request-Id"].Ref,
		"key":            doc.Paths.Value("/pets").Post.Parameters[0].Ref,
		"response":       doc.Paths.Value("/pets").Post.Responses.Value("413").Ref,
		"example":        doc.Paths.Value("/pets").Post.Responses.Value("413").Value.Content[jsonType].Examples["body_too_large"].Ref,
		"Location":       doc.Paths.Value("/pets").Post.Responses.Value("201").Value.Headers["Location"].Ref,
	}
	want := map[string]string{
		"optional field": "#/components/schemas/PetStatus",
		"field":          "#/components/schemas/PetStatus",
		"parameter":      "#/components/schemas/PetStatus",
		"list":           "#/components/schemas/Pets",
		"header":         "#/components/headers/Sunset",
		"request id":     "#/components/headers/X-Request-Id",
		"key":            "#/components/parameters/Idempotency-Key",
		"response":       "#/components/responses/BodyTooLarge",
		"example":        "#/components/examples/body_too_large",
		"Location":       "#/components/headers/Location",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
	names := slices.Sorted(maps.Keys(doc.Components.Schemas))
	if diff := cmp.Diff([]string{"Error", "NewOrder", "NewPet", "Order", "OrderStatus", "Orders", "Pet", "PetStatus", "Pets"}, names); diff != "" {
		t.Errorf("schemas (-want +got):\n%s", diff)
	}
}

func TestDocumentHasNothingOfSwagger2(t *testing.T) {
	t.Parallel()
	document, err := generate("../..")
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
	doc := load(t)
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
	doc := load(t)
	if got := doc.Paths.Value("/pets/{petId}").Get.Parameters[0].Value.Example; got != 1.0 {
		t.Errorf("got the example %v of petId, want 1", got)
	}
}

func TestNamesHaveTheSameLimitsInRequestsAndResponses(t *testing.T) {
	t.Parallel()
	schemas := load(t).Components.Schemas
	sent, received := schemas["NewPet"].Value.Properties["name"].Value, schemas["Pet"].Value.Properties["name"].Value
	if diff := cmp.Diff(sent, received); diff != "" {
		t.Errorf("(-NewPet +Pet):\n%s", diff)
	}
}

func TestLengthLimitIsInDescriptionOnly(t *testing.T) {
	t.Parallel()
	name := load(t).Components.Schemas["NewPet"].Value.Properties["name"].Value
	if name.MaxLength != nil || name.MinLength != 0 || !strings.Contains(name.Description, "1 to 200 characters") {
		t.Errorf("got the limits %d and %v and the description %q, want the limits in the description only", name.MinLength, name.MaxLength, name.Description)
	}
}

// The pattern cannot exclude the noncharacters above U+FFFF.
func TestNamePatternMatchesValidNames(t *testing.T) {
	t.Parallel()
	name := load(t).Components.Schemas["NewPet"].Value.Properties["name"].Value
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
	const (
		pets, orders, doc, errorsFile = "delivery/http/pets.go", "delivery/http/orders.go", "delivery/http/doc.go", "delivery/http/errors.go"
		record, overlayFile           = "delivery/internal/record/record.go", "docs/generate/overlay.yaml"
	)
	for name, c := range map[string]struct{ file, old, replacement, want string }{
		"unknown code":                {pets, `"pet_not_found"`, `"no_pet"`, "not in the list of codes"},
		"code with other status":      {pets, "404		{object}", "408		{object}", "pet_not_found has the status 404"},
		"no id":                       {pets, `@ID				createPet`, ``, "POST /pets: @ID is missing"},
		"no summary":                  {pets, `@Summary		Add an animal`, ``, "POST /pets: @Summary is missing"},
		"no description":              {pets, `@Description	Adds an animal`, `@ID createPet`, "POST /pets: @Description is missing"},
		"no tag":                      {pets, `@Tags			Pets`, ``, "@Tags must name one tag"},
		"undescribed tag":             {doc, `@tag.description	The catalogue`, `@tag.name The catalogue`, "@Tags must name one tag that doc.go describes"},
		"misspelt annotation":         {pets, `@Failure`, `@Failyre`, "@Failyre is unknown"},
		"header outside the overlay":  {pets, `@Failure`, `@Header`, "@Header is unknown"},
		"no route":                    {orders, `@Router			/store/orders/{orderId} [get]`, ``, "without @Router"},
		"annotations without handler": {orders, "func (a *API) getOrder(", "var getOrder = func(a *API, ", "does not precede a function"},
		"route twice":                 {pets, `/pets [post]`, `/pets [get]`, "declared multiple times"},
		"id twice":                    {pets, `@ID				createPet`, `@ID				listPets`, "listPets"},
		"unpublished type name":       {record, `} // @name Pet`, `}`, "needs a published name"},
		"other values than type's":    {record, `json:"status,omitzero"`, `json:"status,omitzero" enums:"old,new"`, "no schema has the values [old new]"},
		"no schema Error":             {errorsFile, `} // @name Error`, `} // @name Problem`, "components.schemas.Error"},
		"parameter not in path":       {pets, `/pets/{petId} [get]`, `/pets/{id} [get]`, "petId"},
		"example of another type":     {record, `example:"Rex"`, `example:"Rex" maxLength:"2"`, "validate the document"},
		"target that selects nothing": {overlayFile, `['/store/orders'].post`, `['/store/orderz'].post`, "orderz"},
		"update without a change":     {overlayFile, "\nactions:\n", "\nactions:\n  - { target: $.info, update: { version: 1.0.0 } }\n", "overlay.yaml: update action (1 / "},
		"two responses of one name":   {overlayFile, `read_only_key }`, `forbidden }`, "two components are responses/Forbidden"},
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

func TestRunRejectsWrongDirectory(t *testing.T) {
	t.Parallel()
	if err := run(t.TempDir()); err == nil || !strings.Contains(err.Error(), "root of the repository") {
		t.Errorf("got %v, want an error with root of the repository", err)
	}
}

// copySources copies what the document is generated from, with the first old of a file replaced, and
// returns its root.
func copySources(t *testing.T, file, old, replacement string) string {
	t.Helper()
	root := t.TempDir()
	paths := []string{"go.mod", "docs/generate/overlay.yaml"}
	for _, dir := range []string{"delivery/http", "delivery/internal/record", "domain"} {
		found, _ := filepath.Glob("../../" + dir + "/*.go") // the pattern is valid
		for _, path := range found {
			if !strings.HasSuffix(path, "_test.go") {
				paths = append(paths, strings.TrimPrefix(path, "../../"))
			}
		}
	}
	for _, path := range paths {
		text, err := os.ReadFile(filepath.Join("../..", path))
		if err != nil {
			t.Fatal(err)
		}
		if path == file {
			if !strings.Contains(string(text), old) {
				t.Fatalf("%s has no %q", file, old)
			}
			text = []byte(strings.Replace(string(text), old, replacement, 1))
		}
		copied := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(copied), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const jsonType = "application/json"

// document generates the document of this repository once.
var document = sync.OnceValues(func() (*openapi3.T, error) {
	text, err := generate("../..")
	if err != nil {
		return nil, err
	}
	return openapi3.NewLoader().LoadFromData(text)
})

func load(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := document()
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestDeprecatedOperationHasItsDates(t *testing.T) {
	t.Parallel()
	doc := load(t)
	get := doc.Paths.Value("/pets/{petId}").Get
	removed := get.Responses.Value("410").Value.Content[jsonType].Examples["operation_removed"].Value.Value.(map[string]any)["message"].(string)
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
	for status, response := range get.Responses.Map() {
		for _, name := range []string{"Deprecation", "Sunset", "Link"} {
			if response.Value.Headers[name] == nil {
				t.Errorf("the response %s has no header %s", status, name)
			}
		}
	}
	if link := doc.Paths.Value("/pets").Get.Responses.Value("200").Value.Headers["Sunset"]; link != nil {
		t.Error("listPets has the header Sunset, although it is not deprecated")
	}
}

func TestForbiddenResponseIsThatOfAReadOnlyKeyUnlessTheOperationReads(t *testing.T) {
	t.Parallel()
	for method, op := range load(t).Paths.Value("/pets").Operations() {
		response := op.Responses.Value("403").Value
		message := response.Content[jsonType].Examples["forbidden"].Value.Value.(map[string]any)["message"].(string)
		writes := method == http.MethodPost
		if strings.Contains(message, "--read-only") != writes || (response.Headers["WWW-Authenticate"] != nil) != writes {
			t.Errorf("%s /pets: got the message %q and the headers %v of a 403", method, message, slices.Sorted(maps.Keys(response.Headers)))
		}
	}
}
