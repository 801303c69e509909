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

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

func TestReleaseRequiresVersionOfThreeNumbers(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"", "1.0.0", "v1.0", "v1.0.0-dirty", "bc3ebdc"} {
		output, err := exec.CommandContext(t.Context(), "make", "-C", "../..", "release", "VERSION="+version).CombinedOutput()
		if err == nil || !strings.Contains(string(output), `VERSION must be vX.Y.Z, not "`+version+`"`) {
			t.Errorf("VERSION=%s: got %v %s, want an error with the format", version, err, output)
		}
	}
}

func TestReleaseNotesAreTheSectionOfTheVersion(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	testkit.Check(t, os.CopyFS(filepath.Join(folder, "scripts"), os.DirFS("../../scripts")))
	harness.WriteFile(t, folder, "CHANGELOG.md",
		"# Changelog\n\n## [Unreleased]\n\nnew\n\n## [1.1.0] - 2026-12-01\n\nsecond\n\n## [1.0.0] - 2026-11-24\n\nfirst\n")
	for version, want := range map[string]string{
		"v1.1.0": "## [1.1.0] - 2026-12-01\n\nsecond\n",
		"v1.0.0": "## [1.0.0] - 2026-11-24\n\nfirst\n",
		"v1.2.0": "CHANGELOG.md has no section [1.2.0]: add it\n",
	} {
		output, err := exec.CommandContext(t.Context(), filepath.Join(folder, "scripts/release-notes"), version).CombinedOutput()
		if string(output) != want || (err != nil) != (version == "v1.2.0") {
			t.Errorf("%s: got %v %q, want %q", version, err, output, want)
		}
	}
}

func TestNightlyRunsAllPartsAndNamesThoseThatFailed(t *testing.T) {
	t.Parallel()
	programs := t.TempDir()
	for name, commands := range map[string]string{"go": `echo "ran $*"; case $* in *./ha*) exit 1; esac`, "patroni": "", "etcd": ""} {
		testkit.Check(t, os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\n"+commands), 0o700))
	}
	cmd := exec.CommandContext(t.Context(), "../../scripts/nightly")
	cmd.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if want := "failed: go test -count 1 -v -failfast -timeout 45m ./ha\n"; err == nil || stderr.String() != want {
		t.Errorf("got %v, %q, want %q", err, &stderr, want)
	}
	for _, part := range []string{"govulncheck", "-fuzz", "./internal/simulation", "./linearizability", "-v -timeout 30m ./faults", "-soakplot"} {
		if !strings.Contains(string(output), part) {
			t.Errorf("%s did not run: %s", part, output)
		}
	}
}

var writeLicenses = flag.Bool("licenses", false, "write docs/licenses.md")

// allowed are the licenses that a linked module may have, each with a part of its text. The first one that
// matches applies.
var allowed = []struct{ text, name string }{
	{"Apache License", "Apache 2.0"},
	{"Permission is hereby granted, free of charge, to any person obtaining", "MIT"},
	{"Permission to use, copy, modify, and/or distribute this software", "ISC"},
	{"Permission to use, copy, modify, and distribute this software for any", "ISC"},
	{"Neither the name of", "BSD 3-Clause"},
	{"Redistribution and use in source and binary forms", "BSD 2-Clause"},
}

// licensesTitle is the beginning of docs/licenses.md.
const licensesTitle = `# Licenses

The licenses of the modules that the program contains, all of which are permissive. SQLite, which is part of 'github.com/mattn/go-sqlite3', is in the
public domain; Swagger UI, which is part of 'github.com/swaggo/files/v2', has the Apache License 2.0; Go itself has the BSD 3-Clause
license. Releases and the image contain the texts in 'licenses.txt'. A test compares this page with the modules;
'go test ./documents -run Licenses -licenses' in the folder test writes it.

| module | license |
|---|---|
`

func TestLinkedModulesHaveAllowedLicenses(t *testing.T) {
	t.Parallel()
	const page = "../../docs/licenses.md"
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}",
		"./cmd/petstore")
	list.Dir = "../.."
	output, err := list.Output()
	testkit.Check(t, err)
	modules := strings.Split(strings.TrimSpace(string(output)), "\n")
	slices.Sort(modules)
	text := strings.ReplaceAll(licensesTitle, "'", "`")
	for _, module := range slices.Compact(modules) {
		path, dir, _ := strings.Cut(module, " ")
		text += fmt.Sprintf("| `%s` | %s |\n", path, licenseIn(t, dir))
	}
	if *writeLicenses {
		testkit.Check(t, os.WriteFile(page, []byte(text), 0o600))
	}
	if diff := cmp.Diff(harness.ReadFile(t, page), text); diff != "" {
		t.Errorf("docs/licenses.md is not up to date (-page +modules)\n%s", diff)
	}
}

// licenseIn returns the name of the license in the folder of a module.
func licenseIn(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "[Ll][Ii][Cc][Ee][Nn][SsCc][Ee]*"))
	testkit.Check(t, err)
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
