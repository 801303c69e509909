package documents

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/test/harness"

	"github.com/google/go-cmp/cmp"
)

var writeLicenses = flag.Bool("licenses", false, "write docs/licenses.md")

// allowed are the licenses that a linked module may have, by a text of theirs. The first that
// matches counts.
var allowed = []struct{ text, name string }{
	{"Apache License", "Apache 2.0"},
	{"Permission is hereby granted, free of charge, to any person obtaining", "MIT"},
	{"Permission to use, copy, modify, and/or distribute this software", "ISC"},
	{"Permission to use, copy, modify, and distribute this software for any", "ISC"},
	{"Neither the name of", "BSD 3-Clause"},
	{"Redistribution and use in source and binary forms", "BSD 2-Clause"},
}

// licensesTitle begins docs/licenses.md.
const licensesTitle = `# Licenses

The licenses of the modules that the program contains, all of which are permissive. SQLite, which is part of ` + "`github.com/mattn/go-sqlite3`" + `, is in the public
domain; Swagger UI, which is part of ` + "`github.com/swaggo/files/v2`" + `, has the Apache License 2.0; Go itself has the BSD 3-Clause
license. Releases and the image contain the texts in ` + "`licenses.txt`" + `. A test compares this page with the modules; ` + "`go test ./documents -run Licenses -licenses`" + ` in the folder test writes it.

| module | license |
|---|---|
`

func TestLinkedModulesHaveAllowedLicenses(t *testing.T) {
	t.Parallel()
	const page = "../../docs/licenses.md"
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}", "./cmd/petstore")
	list.Dir = "../.."
	output, err := list.Output()
	harness.Check(t, err)
	modules := strings.Split(strings.TrimSpace(string(output)), "\n")
	slices.Sort(modules)
	text := licensesTitle
	for _, module := range slices.Compact(modules) {
		path, dir, _ := strings.Cut(module, " ")
		text += fmt.Sprintf("| `%s` | %s |\n", path, licenseIn(t, dir))
	}
	if *writeLicenses {
		harness.Check(t, os.WriteFile(page, []byte(text), 0o600))
	}
	if diff := cmp.Diff(harness.ReadFile(t, page), text); diff != "" {
		t.Errorf("docs/licenses.md is not up to date (-page +modules)\n%s", diff)
	}
}

// licenseIn returns the name of the license in the folder of a module.
func licenseIn(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "[Ll][Ii][Cc][Ee][Nn][SsCc][Ee]*"))
	harness.Check(t, err)
	for _, file := range files {
		for _, license := range allowed {
			if strings.Contains(strings.Join(strings.Fields(harness.ReadFile(t, file)), " "), license.text) {
				return license.name
			}
		}
	}
	t.Errorf("%s has no license that is allowed", dir)
	return "unknown"
}
