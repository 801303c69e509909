//go:build clients

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestGeneratedClientsMakeEveryCall generates a client as docs/clients.md tells,
// from the document of a running service, compiles a program with it and lets the
// program check every answer.
func TestGeneratedClientsMakeEveryCall(t *testing.T) {
	t.Parallel()
	for language, c := range map[string]struct {
		generator    string // in the page's commands
		install, run string
		pins         []string
	}{
		"go": {"oapi-codegen", "", "go vet ./... && go run .", []string{"go.mod", "go.sum"}},
		"ts": {"openapi-typescript", "npm ci", "npx tsc && node out/main.js", []string{"package.json", "package-lock.json"}},
		"python": {
			"openapi-generator", "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt",
			".venv/bin/pip freeze | diff requirements.txt - && PYTHONPATH=client .venv/bin/python main.py", nil,
		},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			s := start(t, t.TempDir())
			folder := copyOf(t, language)
			s.run(t, folder, c.install)
			for _, commands := range blocks(t, "sh") {
				if strings.Contains(commands, c.generator) {
					s.run(t, folder, strings.ReplaceAll(commands, "http://127.0.0.1:8080", s.url))
				}
			}
			for _, pin := range c.pins {
				if read(t, filepath.Join(folder, pin)) != read(t, filepath.Join(clients, language, pin)) {
					t.Errorf("docs/clients.md installs other versions than those in %s", pin)
				}
			}
			s.run(t, folder, c.run)
			s.wantCalls(t)
		})
	}
}

// TestLintersAcceptTheDocument allows no warning either. Each exception stands in
// a linter's configuration, with its reason.
func TestLintersAcceptTheDocument(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	folder := copyOf(t, "lint")
	s.run(t, folder, "npm ci")
	for linter, lint := range map[string]string{
		"redocly":  "npx redocly lint $URL/openapi.json",
		"spectral": "npx spectral lint --fail-severity hint $URL/openapi.json",
	} {
		t.Run(linter, func(t *testing.T) {
			s.run(t, folder, lint)
		})
	}
}

// copyOf is a copy of a folder of clients, to install and generate into.
func copyOf(t *testing.T, name string) string {
	t.Helper()
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%v (make test-clients installs it)", err)
		}
	}
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(filepath.Join(clients, name))); err != nil {
		t.Fatal(err)
	}
	return folder
}

// run lets a shell run commands that find the service in URL and KEY.
func (s *process) run(t *testing.T, folder, commands string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", commands)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "URL="+s.url, "KEY="+s.key)
	if told, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", commands, err, told)
	}
}

// wantCalls ends the server and reads in its log whether each operation of its
// document succeeded, and whether what may be refused was refused.
func (s *process) wantCalls(t *testing.T) {
	t.Helper()
	document := servedDocument(t, s)
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = s.Wait() // the log is looked at
	made := calls(s.log.String())
	if document.Paths.Len() < 6 {
		t.Errorf("the document has only %d paths", document.Paths.Len())
	}
	for path, item := range document.Paths.Map() {
		for method := range item.Operations() {
			if call := method + " /v1" + path + " 2"; !slices.ContainsFunc(made, func(m string) bool { return strings.HasPrefix(m, call) }) {
				t.Errorf("nobody made %sxx", call)
			}
		}
	}
	for _, call := range []string{
		"GET /v1/pets 304", "GET /v1/pets 400", "GET /v1/pets 401", "POST /v1/pets 400", "POST /v1/pets 401", "POST /v1/pets 422",
		"GET /v1/pets/{petId} 404", "GET /v1/store/orders 304", "POST /v1/store/orders 404", "POST /v1/store/orders 409",
		"GET /v1/store/orders/{orderId} 404", "POST /v1/store/orders/{orderId}/deliver 409", "POST /v1/store/orders/{orderId}/cancel 409",
	} {
		if !slices.Contains(made, call) {
			t.Errorf("nobody made %s", call)
		}
	}
}

// calls are the requests of an access log, such as GET /v1/pets/{petId} 200.
func calls(log string) (made []string) {
	parameter := regexp.MustCompile(`:(\w+)`)
	for line := range strings.Lines(log) {
		var request struct {
			Method, Route string
			Status        int
		}
		if json.Unmarshal([]byte(line), &request) == nil && request.Route != "" {
			made = append(made, fmt.Sprintf("%s %s %d", request.Method, parameter.ReplaceAllString(request.Route, "{$1}"), request.Status))
		}
	}
	return made
}
