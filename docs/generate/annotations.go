package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// The annotations that are allowed on a handler, and elsewhere: on a type or in doc.go.
var (
	handlerAnnotations = []string{
		"@id", "@summary", "@description", "@tags", "@deprecated", "@accept", "@produce",
		"@param", "@success", "@failure", "@header", "@router",
	}
	otherAnnotations = []string{
		"@title", "@version", "@description", "@basepath", "@tag.name", "@tag.description", "@name",
		"@contact.name", "@contact.url", "@contact.email", "@license.name", "@license.url",
	}
)

// checkAnnotations returns an error for mistakes that swag ignores: an unknown annotation,
// a handler without @Router, the annotations of a handler that precede no function, and a
// @Header before its response.
func checkAnnotations(dir string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return fmt.Errorf("%s has no Go files: run this from the root of the repository", dir)
	}
	files := token.NewFileSet()
	for _, path := range paths {
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, comment := range file.Comments {
			check := checkNonHandler
			if isHandler(file, comment) {
				check = checkHandler
			}
			if err := check(annotations(comment)); err != nil {
				return fmt.Errorf("%s: %w", files.Position(comment.Pos()), err)
			}
		}
	}
	return nil
}

// annotations returns the fields of each line of a comment that begins with @.
func annotations(comment *ast.CommentGroup) [][]string {
	var found [][]string
	for line := range strings.Lines(comment.Text()) {
		if fields := strings.Fields(line); len(fields) > 0 && strings.HasPrefix(fields[0], "@") {
			found = append(found, fields)
		}
	}
	return found
}

// isHandler reports whether a comment is the doc comment of a function.
func isHandler(file *ast.File, comment *ast.CommentGroup) bool {
	return slices.ContainsFunc(file.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		return ok && f.Doc == comment
	})
}

func checkNonHandler(lines [][]string) error {
	for _, line := range lines {
		if !slices.Contains(otherAnnotations, strings.ToLower(line[0])) {
			return fmt.Errorf("%s is unknown, or does not precede a function", line[0])
		}
	}
	return nil
}

func checkHandler(lines [][]string) error {
	var statuses []string
	hasRoute := len(lines) == 0
	for _, line := range lines {
		annotation := strings.ToLower(line[0])
		switch {
		case !slices.Contains(handlerAnnotations, annotation):
			return fmt.Errorf("%s is unknown", line[0])
		case annotation == "@router":
			hasRoute = true
		case len(line) < 2:
		case annotation == "@success", annotation == "@failure":
			statuses = append(statuses, strings.Split(line[1], ",")...)
		case annotation == "@header" && line[1] != "all" && !containsAll(statuses, strings.Split(line[1], ",")):
			return fmt.Errorf("@Header %s precedes its response", line[1])
		}
	}
	if !hasRoute {
		return fmt.Errorf("%s without @Router", lines[0][0])
	}
	return nil
}

func containsAll(set, values []string) bool {
	return !slices.ContainsFunc(values, func(v string) bool { return !slices.Contains(set, v) })
}
