package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The annotations that may be used. Headers are in overlay.yaml: swag ignores @Header before its response.
var annotations = strings.Fields(`@id @summary @description @tags @deprecated @param @success @failure @router
	@title @version @contact.name @license.name @license.url @tag.name @tag.description`)

var annotation = regexp.MustCompile(`(?m)^//\s*(@\S+)`)

// checkAnnotations returns an error for an annotation in the Go files of dir that swag would ignore, because it
// is misspelt. It returns the number of handlers that are annotated.
func checkAnnotations(dir string) (handlers int, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return 0, err
	}
	if len(paths) == 0 {
		return 0, fmt.Errorf("%s has no Go files: run this from the root of the repository", dir)
	}
	for _, path := range paths {
		source, err := os.ReadFile(path) //nolint:gosec // a file of the repository
		if err != nil {
			return 0, err
		}
		for _, found := range annotation.FindAllSubmatch(source, -1) {
			name := strings.ToLower(string(found[1]))
			if !slices.Contains(annotations, name) {
				return 0, fmt.Errorf("%s: %s is unknown", path, found[1])
			}
			if name == "@summary" {
				handlers++
			}
		}
	}
	return handlers, nil
}
