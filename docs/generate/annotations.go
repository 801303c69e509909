package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// annotations are the annotations that handlers and doc.go may have. Headers are in overlay.yaml instead, because swag
// ignores an @Header that precedes its response.
var annotations = strings.Fields(`@id @summary @description @tags @deprecated @param @success @failure @router
	@title @version @contact.name @license.name @license.url @tag.name @tag.description`)

var annotation = regexp.MustCompile(`(?m)^//\s*(@\S+)`)

// checkAnnotations checks the Go files of dir. It returns an error for an unknown annotation, such as a misspelt one, because
// swag would ignore it.
func checkAnnotations(dir string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		source, err := os.ReadFile(path) //nolint:gosec // a file of the repository
		if err != nil {
			return err
		}
		for _, found := range annotation.FindAllSubmatch(source, -1) {
			if !slices.Contains(annotations, strings.ToLower(string(found[1]))) {
				return fmt.Errorf("%s: %s is unknown", path, found[1])
			}
		}
	}
	return nil
}
