package main

import (
	"encoding/json"
	"io"
	"log"
	"path/filepath"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/swaggo/swag"
)

// generate returns the OpenAPI document of the service in the repository at root. The
// result depends only on the sources.
func generate(root string) ([]byte, error) {
	if err := checkAnnotations(filepath.Join(root, handlers)); err != nil {
		return nil, err
	}
	doc, err := parseAnnotations(root)
	if err != nil {
		return nil, err
	}
	steps := []func(*openapi3.T) error{
		removeSwagger2Leftovers,
		completeInfo,
		nameSchemas,
		addErrorCodes,
		shareEnums,
		nameLists,
		setPathExamples,
		describeLengths,
		addNamePattern,
		describeRemoval,
		checkOperations,
		addFailures,
		addConditionalGets,
		shareParameters,
		shareHeaders,
		requireAPIKey,
	}
	for _, step := range steps {
		if err := step(doc); err != nil {
			return nil, err
		}
	}
	return encode(doc)
}

// The packages of the annotated handlers and of the types that the annotations name.
const (
	handlers = "delivery/http"
	records  = "delivery/internal/record"
	types    = "domain"
)

// parseAnnotations reads the annotations as Swagger 2.0, the only version that swag supports, and
// converts the result to OpenAPI 3.0.3.
func parseAnnotations(root string) (*openapi3.T, error) {
	parser := swag.New(swag.SetStrict(true), swag.SetDebugger(log.New(io.Discard, "", 0)))
	dirs := []string{filepath.Join(root, handlers), filepath.Join(root, records), filepath.Join(root, types)}
	if err := parser.ParseAPIMultiSearchDir(dirs, "doc.go", 1); err != nil {
		return nil, err
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
	return openapi2conv.ToV3(&v2)
}
