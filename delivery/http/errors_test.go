package http_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
)

// constants are the constants of a type that the domain and this package declare.
func constants(t *testing.T, typeName string) (values []string) {
	t.Helper()
	for _, pattern := range []string{"../../domain/*.go", "*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(source, func(n ast.Node) bool {
				spec, is := n.(*ast.ValueSpec)
				if !is || len(spec.Values) == 0 {
					return true
				}
				literal, is := spec.Values[0].(*ast.BasicLit)
				if named(spec.Type) == typeName && is {
					value, _ := strconv.Unquote(literal.Value)
					values = append(values, value)
				}
				return true
			})
		}
	}
	if len(values) == 0 {
		t.Fatalf("no constant of the type %s was found", typeName)
	}
	return values
}

func named(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	default:
		return ""
	}
}

// refuseWith is a shop whose authenticator refuses every request with an error.
func refuseWith(t *testing.T, err error) *testServer {
	t.Helper()
	return newTestServer(t, rest.WithAuthenticator(func(*gin.Context) (string, error) { return "", err }))
}

func TestEveryKindHasItsStatus(t *testing.T) {
	t.Parallel()
	statuses := map[string]int{
		"invalid": 400, "unauthenticated": 401, "forbidden": 403, "not found": 404, "method not allowed": 405, "request timeout": 408,
		"conflict": 409, "rate limited": 429, "gone": 410, "body too large": 413, "unsupported media type": 415, "reused": 422,
		"internal": 500, "unavailable": 503,
	}
	for _, kind := range constants(t, "Kind") {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			status := statuses[kind]
			i := slices.IndexFunc(constants(t, "Code"), func(code string) bool { return published[code] == status })
			if i < 0 {
				t.Fatalf("the kind %q has no published status", kind)
			}
			failure := &domain.Error{
				Kind: domain.Kind(kind), Code: domain.Code(constants(t, "Code")[i]),
				Message: "told", Cause: errors.New("untold"),
			}
			s := refuseWith(t, fmt.Errorf("wrapped: %w", fmt.Errorf("and again: %w", failure)))
			a, err := s.send(t.Context(), get("/v1/pets")) // the list alone is not documented to fail in so many ways
			if err != nil {
				t.Fatal(err)
			}
			a.check(t, refused(status, string(failure.Code), "told").without("untold", "wrapped", "again"))
		})
	}
}

func TestCodesAreThePublishedOnes(t *testing.T) {
	t.Parallel()
	later := []string{"rate_limited"}
	codes := constants(t, "Code")
	for _, code := range codes {
		if published[code] == 0 {
			t.Errorf("%s is not published", code)
		}
	}
	for code := range published {
		if !slices.Contains(codes, code) && !slices.Contains(later, code) {
			t.Errorf("%s does not exist", code)
		}
	}
}

func TestPublishedCodesAreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	schema := loadDocument(t).Components.Schemas["Error"].Value
	listed, _ := schema.Properties["code"].Value.Extensions["x-extensible-enum"].([]any)
	for code := range published {
		if !slices.Contains(listed, any(code)) {
			t.Errorf("the document does not know the code %s", code)
		}
	}
	if len(listed) != len(published) {
		t.Errorf("the document has %d codes, want %d", len(listed), len(published))
	}
}

func TestWhatIsNoFailureOfTheDomainIsInternal(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"any error":            errors.New("untold"),
		"a kind without words": domain.ErrNotFound,
		"an unknown kind":      &domain.Error{Kind: "untold", Code: "untold", Message: "untold"},
		"an empty failure":     &domain.Error{Message: "untold"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := refuseWith(t, err)
			a := s.expect(t, get("/v1/pets"), refused(500, "internal_error").without("untold"))
			s.wantCauseInLog(t, a, err.Error())
		})
	}
}

// wantCauseInLog wants the cause of a failure in the log, beside its request id.
func (s *testServer) wantCauseInLog(t *testing.T, a answer, cause string) {
	t.Helper()
	for _, entry := range s.log.FilterMessage("request failed").All() {
		fields := entry.ContextMap()
		if fields["request_id"] == a.Header.Get("X-Request-Id") && strings.Contains(fmt.Sprint(fields["error"]), cause) {
			return
		}
	}
	t.Errorf("the log does not tell %q for the request %s", cause, a.Header.Get("X-Request-Id"))
}

func TestDefectOfTheStoreIsInternalAndToldToTheLogAlone(t *testing.T) {
	t.Parallel()
	for table, r := range map[string]request{
		"pets":             get("/v1/pets"),
		"orders":           get("/v1/store/orders"),
		"api_keys":         get("/v1/pets"),
		"idempotency_keys": post(`{"name":"Rex","categoryId":7}`, "Idempotency-Key: one"),
	} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			s.exec(t, `DROP TABLE `+table)
			a := s.expect(t, r, refused(500, "internal_error").without(table+":", "table"))
			s.wantCauseInLog(t, a, "no such table: "+table)
		})
	}
}
