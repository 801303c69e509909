package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"path/filepath"
	"strings"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/speakeasy-api/openapi/overlay"
	"github.com/swaggo/swag"
	"gopkg.in/yaml.v3"
)

// generate returns the OpenAPI document for the repository at root. The result depends only on the source files.
func generate(root string) ([]byte, error) {
	dirs := []string{filepath.Join(root, "delivery/http"), filepath.Join(root, "internal/record"), filepath.Join(root, "domain")}
	if err := checkAnnotations(dirs[0]); err != nil {
		return nil, err
	}
	annotated, err := parseAnnotations(dirs)
	if err != nil {
		return nil, err
	}
	doc, err := applyOverlay(filepath.Join(root, "docs/generate/overlay.yaml"), annotated)
	if err != nil {
		return nil, err
	}
	for _, step := range []func(object) error{checkOperations, orderParameters, addFailures, shareSchemas, shareRepeated} {
		if err := step(doc); err != nil {
			return nil, err
		}
	}
	return encode(doc)
}

// parseAnnotations reads the annotations with swag, which supports only Swagger 2.0, and converts the result to
// OpenAPI 3.0.3.
func parseAnnotations(dirs []string) ([]byte, error) {
	parser := swag.New(swag.SetStrict(true), swag.SetDebugger(log.New(io.Discard, "", 0)))
	if err := parser.ParseAPIMultiSearchDir(dirs, "doc.go", 1); err != nil {
		return nil, err
	}
	for name := range parser.GetSwagger().Definitions {
		if strings.Contains(name, ".") {
			return nil, fmt.Errorf("type %s needs a published name: // @name after its declaration", name)
		}
	}
	data, err := json.Marshal(parser.GetSwagger())
	if err != nil {
		return nil, err
	}
	var v2 openapi2.T
	if err := json.Unmarshal(data, &v2); err != nil {
		return nil, err
	}
	v2.Consumes = []string{"application/json"}
	v3, err := openapi2conv.ToV3(&v2)
	if err != nil {
		return nil, err
	}
	return v3.MarshalJSON()
}

// applyOverlay applies the OpenAPI Overlay at path to a document. An action that selects nothing is an error.
func applyOverlay(path string, document []byte) (doc object, err error) {
	changes, err := overlay.Parse(path)
	if err != nil {
		return nil, err
	}
	var root yaml.Node
	if err := yaml.Unmarshal(document, &root); err != nil {
		return nil, err
	}
	warnings, err := changes.ApplyToStrict(&root)
	if len(warnings) > 0 {
		err = errors.Join(err, errors.New(strings.Join(warnings, "; ")))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return doc, root.Decode(&doc)
}

// encode returns the document as JSON, or an error if it is not valid OpenAPI.
func encode(doc object) ([]byte, error) {
	var ordered struct { // the same order as in package docs
		OpenAPI    any `json:"openapi"`
		Info       any `json:"info"`
		Servers    any `json:"servers"`
		Tags       any `json:"tags"`
		Security   any `json:"security"`
		Paths      any `json:"paths"`
		Components any `json:"components"`
	}
	data, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	if err := validate(data); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &ordered); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err = encoder.Encode(ordered)
	return out.Bytes(), err
}

// validate returns an error if the document is not valid OpenAPI. It loads the document, which resolves every reference.
func validate(data []byte) error {
	doc, err := openapi3.NewLoader().LoadFromData(data)
	if err != nil {
		return fmt.Errorf("load the document: %w", err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		return fmt.Errorf("validate the document: %w", err)
	}
	return nil
}
