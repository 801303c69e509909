package clients

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

const (
	clientsDir = "testdata/clients" // the programs that use generated clients
	page       = "../../docs/clients.md"
)

// TestClientsDocumentShowsTestedCode expects that every code block of docs/clients.md is in a program of
// testdata/clients.
func TestClientsDocumentShowsTestedCode(t *testing.T) {
	t.Parallel()
	for language, files := range map[string][]string{
		"go":     {"go/store.go", "go/petstore/error.go"},
		"yaml":   {"go/petstore/oapi-codegen.yaml"},
		"ts":     {"ts/store.ts"},
		"python": {"python/store.py"},
	} {
		code := "\n"
		for _, file := range files {
			code += harness.ReadFile(t, filepath.Join(clientsDir, file))
		}
		for _, block := range harness.CodeBlocks(t, page, language) {
			if !strings.Contains(code, "\n"+block) {
				t.Errorf("%s do not contain:\n%s", files, block)
			}
		}
	}
}

// TestGeneratedClientsMakeEveryCall generates clients from the document of a running service with the
// commands of docs/clients.md. With each client it runs a program that makes every call and checks the
// responses.
func TestGeneratedClientsMakeEveryCall(t *testing.T) {
	t.Parallel()
	for language, c := range map[string]struct {
		generator    string // a part of the command in docs/clients.md
		install, run string // run begins with a check that the commands changed no version; ORIGINAL is the folder that is copied
	}{
		"go": {"oapi-codegen", "", `diff go.mod "$ORIGINAL/go.mod" && diff go.sum "$ORIGINAL/go.sum" && go vet ./... && go run .`},
		"ts": {
			"openapi-typescript", "npm ci",
			`diff package.json "$ORIGINAL/package.json" && diff package-lock.json "$ORIGINAL/package-lock.json" && npx tsc && node out/main.js`,
		},
		"python": {
			"openapi-generator", "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt",
			".venv/bin/pip freeze | diff requirements.txt - && PYTHONPATH=client .venv/bin/python main.py",
		},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			s := harness.Start(t, t.TempDir())
			dir, original := copyClient(t, language)
			shell := func(commands string) {
				harness.Shell(t, dir, commands, "URL="+s.URL, "KEY="+s.Key, "ORIGINAL="+original)
			}
			shell(c.install)
			for _, commands := range harness.CodeBlocks(t, page, "sh") {
				if strings.Contains(commands, c.generator) {
					shell(strings.ReplaceAll(commands, "http://127.0.0.1:8080", s.URL))
				}
			}
			shell(c.run)
			wantCalls(s, t)
		})
	}
}

// TestLintersAcceptTheDocument expects no errors and no warnings. The configuration files of the linters
// contain the exceptions.
func TestLintersAcceptTheDocument(t *testing.T) {
	t.Parallel()
	dir, _ := copyClient(t, "lint")
	harness.Shell(t, dir, "npm ci")
	s := harness.Start(t, t.TempDir())
	for _, linter := range []string{"npx redocly lint $URL/openapi.json", "npx spectral lint --fail-severity hint $URL/openapi.json"} {
		harness.Shell(t, dir, linter, "URL="+s.URL)
	}
}

// copyClient copies a directory of testdata/clients to a temporary directory, in which packages are
// installed and code is generated.
func copyClient(t *testing.T, name string) (dir, original string) {
	t.Helper()
	dir = t.TempDir()
	original, err := filepath.Abs(filepath.Join(clientsDir, name))
	testkit.Check(t, err)
	testkit.Check(t, os.CopyFS(dir, os.DirFS(original)))
	return dir, original
}

// wantCalls stops the server. It expects that the access log contains a successful request for each
// operation of the document, and the listed responses.
func wantCalls(s *harness.Server, t *testing.T) {
	t.Helper()
	document := s.Document(t)
	s.Signal(t, syscall.SIGTERM)
	_ = s.Wait() // only the log matters
	if document.Paths.Len() < 6 {
		t.Errorf("got a document with %d paths, want at least 6", document.Paths.Len())
	}
	want := []string{
		"GET /v1/pets 304", "GET /v1/pets 400", "GET /v1/pets 401", "POST /v1/pets 400", "POST /v1/pets 401", "POST /v1/pets 422",
		"GET /v1/pets/{petId} 404", "PATCH /v1/pets/{petId} 404", "PATCH /v1/pets/{petId} 412", "DELETE /v1/pets/{petId} 404",
		"DELETE /v1/pets/{petId} 409", "GET /v1/store/orders 304", "POST /v1/store/orders 404", "POST /v1/store/orders 409",
		"GET /v1/store/orders/{orderId} 404", "POST /v1/store/orders/{orderId}/deliver 409", "POST /v1/store/orders/{orderId}/cancel 409",
	}
	for path, item := range document.Paths.Map() {
		for method := range item.Operations() {
			want = append(want, method+" /v1"+path+" 2xx")
		}
	}
	made, parameter := map[string]bool{}, regexp.MustCompile(`:(\w+)`)
	for line := range strings.Lines(s.Log.String()) {
		var request struct {
			Method, Route string
			Status        int
		}
		if json.Unmarshal([]byte(line), &request) == nil {
			call := request.Method + " " + parameter.ReplaceAllString(request.Route, "{$1}")
			made[fmt.Sprintf("%s %d", call, request.Status)] = true
			made[fmt.Sprintf("%s %dxx", call, request.Status/100)] = true
		}
	}
	for _, call := range want {
		if !made[call] {
			t.Errorf("the access log has no %s", call)
		}
	}
}
